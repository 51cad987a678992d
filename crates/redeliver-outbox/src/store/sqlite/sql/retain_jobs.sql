DELETE FROM redeliver_jobs
WHERE id IN (
    SELECT id
    FROM redeliver_jobs j
    WHERE state IN ('done', 'stopped', 'cancelled') AND updated_at < ?1
        AND NOT EXISTS (SELECT 1 FROM redeliver_job_messages m WHERE m.job = j.id)
    LIMIT ?2)
