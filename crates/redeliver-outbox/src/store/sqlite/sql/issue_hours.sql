SELECT (?2 - dead_lettered_at) / 3600000 AS ago, COUNT(*)
FROM redeliver_dead
WHERE discarded_at IS NULL AND fingerprint = ?1 AND dead_lettered_at > ?2 - 86400000
GROUP BY ago
