SELECT destination, SUM(sent), SUM(dead)
FROM (
    SELECT destination, COUNT(*) AS sent, 0 AS dead FROM redeliver_sent GROUP BY destination
    UNION ALL
    SELECT destination, 0, COUNT(*) FROM redeliver_dead WHERE discarded_at IS NULL GROUP BY destination
    UNION ALL
    SELECT '', COUNT(*), 0 FROM redeliver_events
)
GROUP BY destination
