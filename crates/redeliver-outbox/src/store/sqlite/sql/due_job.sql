-- If it is still due, and in nobody's hands but ours.
SELECT id, kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, released, delivered, failing, failed, wave, exhausted,
    reached, looked, excused_until, excused_released, excused_delivered, excused_failing, excused_failed,
    created_at, updated_at, next_step_at, runner, note
FROM redeliver_jobs
WHERE id = ?3 AND state IN ('canary', 'ramping') AND next_step_at <= ?1 AND (runner IS NULL OR runner = ?2 OR runner_until < ?1)
