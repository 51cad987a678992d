DELETE FROM redeliver_job_messages
 WHERE (job, number) IN (
     SELECT m.job, m.number
       FROM redeliver_jobs j
       JOIN redeliver_job_messages m ON m.job = j.id
      WHERE j.state IN ('done', 'stopped', 'cancelled') AND j.updated_at < now() - $1 * interval '1 millisecond'
      LIMIT $2)
