DELETE m
FROM redeliver_job_messages m
JOIN (
    SELECT n.job, n.number
    FROM redeliver_jobs j
    JOIN redeliver_job_messages n ON n.job = j.id
    WHERE j.state IN ('done', 'stopped', 'cancelled') AND j.updated_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    LIMIT ?
) AS old ON old.job = m.job AND old.number = m.number
