DELETE FROM redeliver_jobs
 WHERE id IN (
     SELECT id
       FROM redeliver_jobs j
      WHERE state IN ('done', 'stopped', 'cancelled') AND updated_at < now() - $1 * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM redeliver_job_messages m WHERE m.job = j.id)
      LIMIT $2)
