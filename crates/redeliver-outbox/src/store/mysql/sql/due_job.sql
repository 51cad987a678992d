-- If it is still due, and in nobody's hands but ours. What another process is stepping just now is not waited for.
SELECT id, kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, released, delivered, failing, failed, wave, exhausted,
    reached, looked, excused_until, excused_released, excused_delivered, excused_failing, excused_failed,
    created_at, updated_at, next_step_at, runner, note
FROM redeliver_jobs
WHERE id = ? AND state IN ('canary', 'ramping') AND next_step_at <= UTC_TIMESTAMP(3)
    AND (runner IS NULL OR runner = ? OR runner_until < UTC_TIMESTAMP(3))
FOR UPDATE SKIP LOCKED
