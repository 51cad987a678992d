ALTER TABLE redeliver_jobs
    DROP COLUMN excused_until,
    DROP COLUMN excused_released,
    DROP COLUMN excused_delivered,
    DROP COLUMN excused_failing,
    DROP COLUMN excused_failed;
