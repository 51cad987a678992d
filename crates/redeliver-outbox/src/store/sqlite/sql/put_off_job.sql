-- For twice as long as the last time: how long that was is what lies between its last change and its next step.
UPDATE redeliver_jobs
SET next_step_at = ?2 + min(max(2 * (next_step_at - updated_at), ?3), ?4), updated_at = ?2, runner = NULL, note = ?5
WHERE id = ?1 AND state IN ('canary', 'ramping') AND next_step_at <= ?2
