SELECT number FROM redeliver_events
WHERE fanned_out_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
ORDER BY fanned_out_at LIMIT ?
