SELECT id, kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, released, delivered, failing, failed, wave, exhausted,
    reached, looked, created_at, updated_at, next_step_at, runner, note
FROM redeliver_jobs
WHERE id = ?
