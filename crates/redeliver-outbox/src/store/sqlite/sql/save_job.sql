UPDATE redeliver_jobs
SET state = ?2, released = ?3, delivered = ?4, failing = ?5, failed = ?6, wave = ?7, exhausted = ?8, reached = ?9, looked = ?10,
    runner = ?11, note = ?12, updated_at = ?13, next_step_at = ?13 + ?14, runner_until = ?13 + ?15
WHERE id = ?1
