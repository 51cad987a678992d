SELECT number, destination, reason, last_error
FROM redeliver_dead
WHERE discarded_at IS NULL AND fingerprint = ''
ORDER BY dead_lettered_at, number
LIMIT $1
