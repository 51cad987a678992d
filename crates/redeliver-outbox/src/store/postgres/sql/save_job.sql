UPDATE redeliver_jobs
   SET state = $2, released = $3, delivered = $4, failing = $5, failed = $6, wave = $7, exhausted = $8, reached = $9, looked = $10,
       runner = $11, note = $12, updated_at = clock_timestamp(),
       next_step_at = clock_timestamp() + $13 * interval '1 millisecond', runner_until = clock_timestamp() + $14 * interval '1 millisecond'
 WHERE id = $1
