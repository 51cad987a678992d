SELECT redrive, attempt, at, took_ms, class, error, worker
FROM redeliver_attempts
WHERE number = ?1 AND salt & 4611686018427387903 = ?2
ORDER BY redrive, attempt
