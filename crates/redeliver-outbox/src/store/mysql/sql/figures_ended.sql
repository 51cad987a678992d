SELECT destination, CAST(SUM(sent) AS SIGNED), CAST(SUM(dead) AS SIGNED)
FROM (
    SELECT destination, COUNT(*) AS sent, 0 AS dead FROM redeliver_sent GROUP BY destination
    UNION ALL
    SELECT destination, 0, COUNT(*) FROM redeliver_dead WHERE discarded_at IS NULL GROUP BY destination
    UNION ALL
    SELECT '', COUNT(*), 0 FROM redeliver_events
) AS ended
GROUP BY destination
