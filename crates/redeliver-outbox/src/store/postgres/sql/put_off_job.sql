-- For twice as long as the last time: how long that was is what lies between its last change and its next step.
UPDATE redeliver_jobs
   SET next_step_at = clock_timestamp()
           + LEAST(GREATEST(2 * (next_step_at - updated_at), $2 * interval '1 millisecond'), $3 * interval '1 millisecond'),
       updated_at = clock_timestamp(), runner = NULL, note = $4
 WHERE id = $1 AND state IN ('canary', 'ramping') AND next_step_at <= clock_timestamp()
