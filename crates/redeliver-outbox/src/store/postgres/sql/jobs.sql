SELECT id, kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, released, delivered, failing, failed, wave, exhausted,
    reached, looked, excused_until, excused_released, excused_delivered, excused_failing, excused_failed,
    created_at, updated_at, next_step_at, runner, note
FROM redeliver_jobs
ORDER BY id DESC
LIMIT $1
