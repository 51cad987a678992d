-- For twice as long as the last time: how long that was is what lies between its last change and its next step. In this order: what is set
-- first is seen by what comes behind it.
UPDATE redeliver_jobs
SET next_step_at = DATE_ADD(UTC_TIMESTAMP(3),
        INTERVAL LEAST(GREATEST(2 * TIMESTAMPDIFF(MICROSECOND, updated_at, next_step_at), ? * 1000), ? * 1000) MICROSECOND),
    updated_at = UTC_TIMESTAMP(3), runner = NULL, note = ?
WHERE id = ? AND state IN ('canary', 'ramping') AND next_step_at <= UTC_TIMESTAMP(3)
