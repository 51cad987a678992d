UPDATE redeliver_jobs
SET state = ?, released = ?, delivered = ?, failing = ?, failed = ?, wave = ?, exhausted = ?, reached = ?, looked = ?,
    excused_until = ?, excused_released = ?, excused_delivered = ?, excused_failing = ?, excused_failed = ?, runner = ?, note = ?,
    updated_at = UTC_TIMESTAMP(3), next_step_at = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND),
    runner_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
WHERE id = ?
