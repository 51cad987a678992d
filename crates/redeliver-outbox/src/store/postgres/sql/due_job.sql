-- If it is still due, and in nobody's hands but ours. What another process is stepping just now is not waited for.
SELECT id, kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, released, delivered, failing, failed, wave, exhausted,
    reached, looked, excused_until, excused_released, excused_delivered, excused_failing, excused_failed,
    created_at, updated_at, next_step_at, runner, note
FROM redeliver_jobs
WHERE id = $2 AND state IN ('canary', 'ramping') AND next_step_at <= clock_timestamp()
    AND (runner IS NULL OR runner = $1 OR runner_until < clock_timestamp())
FOR UPDATE SKIP LOCKED
