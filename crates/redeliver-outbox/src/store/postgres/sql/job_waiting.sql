SELECT m.number, CASE
    WHEN o.redrives > m.redrives THEN 'failed' -- it died, and somebody else put it back
    WHEN o.attempts > 0 THEN 'failing'
    WHEN o.number IS NOT NULL THEN 'waiting'
    WHEN d.number IS NOT NULL THEN 'failed'
    ELSE 'delivered'
END
FROM redeliver_job_messages m
LEFT JOIN redeliver_outbox o ON o.shard = m.shard AND o.number = m.number AND o.salt = m.salt
LEFT JOIN redeliver_dead d ON d.number = m.number AND d.salt = m.salt AND d.redrives >= m.redrives
WHERE m.job = $1 AND m.outcome IS NULL
ORDER BY m.number
LIMIT $2
