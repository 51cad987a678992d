SELECT number FROM redeliver_dead
WHERE discarded_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
ORDER BY discarded_at LIMIT ?
