UPDATE redeliver_jobs
SET state = ?2, released = ?3, delivered = ?4, failing = ?5, failed = ?6, wave = ?7, exhausted = ?8, reached = ?9, looked = ?10,
    excused_until = ?11, excused_released = ?12, excused_delivered = ?13, excused_failing = ?14, excused_failed = ?15,
    runner = ?16, note = ?17, updated_at = ?18, next_step_at = ?18 + ?19, runner_until = ?18 + ?20
WHERE id = ?1
