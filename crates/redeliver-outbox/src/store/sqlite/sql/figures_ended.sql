SELECT destination, 0, COUNT(*) FROM redeliver_dead WHERE discarded_at IS NULL GROUP BY destination
UNION ALL
SELECT '', COUNT(*), 0 FROM redeliver_events
