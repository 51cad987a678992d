DELETE j
FROM redeliver_jobs j
JOIN (
    SELECT id
    FROM redeliver_jobs k
    WHERE k.state IN ('done', 'stopped', 'cancelled') AND k.updated_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
        AND NOT EXISTS (SELECT 1 FROM redeliver_job_messages m WHERE m.job = k.id)
    LIMIT ?
) AS old ON old.id = j.id
