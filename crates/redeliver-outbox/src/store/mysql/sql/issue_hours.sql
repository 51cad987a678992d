SELECT TIMESTAMPDIFF(SECOND, dead_lettered_at, UTC_TIMESTAMP(3)) DIV 3600 AS ago, COUNT(*)
FROM redeliver_dead
WHERE discarded_at IS NULL AND fingerprint = ? AND dead_lettered_at > DATE_SUB(UTC_TIMESTAMP(3), INTERVAL 24 HOUR)
GROUP BY ago
