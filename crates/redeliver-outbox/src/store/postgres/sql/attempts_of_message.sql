SELECT redrive, attempt, at, took_ms, class, error, worker FROM redeliver_attempts WHERE number = $1 ORDER BY redrive, attempt
