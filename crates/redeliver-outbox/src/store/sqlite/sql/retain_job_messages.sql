DELETE FROM redeliver_job_messages
WHERE (job, number) IN (
    SELECT m.job, m.number
    FROM redeliver_jobs j
    JOIN redeliver_job_messages m ON m.job = j.id
    WHERE j.state IN ('done', 'stopped', 'cancelled') AND j.updated_at < ?1
    LIMIT ?2)
