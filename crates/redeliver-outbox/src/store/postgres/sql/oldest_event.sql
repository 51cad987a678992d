SELECT created_at FROM redeliver_events ORDER BY number LIMIT 1
