SELECT redrive, attempt, at, took_ms, class, error, worker FROM redeliver_attempts WHERE number = ? ORDER BY redrive, attempt
