SELECT redrive, attempt, at, took_ms, class, error, worker FROM redeliver_attempts WHERE number = ? AND salt & 4611686018427387903 = ? ORDER BY redrive, attempt
