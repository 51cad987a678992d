DELETE FROM redeliver_deduplication
WHERE created_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
ORDER BY created_at LIMIT ?
