ALTER TABLE redeliver_jobs DROP COLUMN excused_failed;
ALTER TABLE redeliver_jobs DROP COLUMN excused_failing;
ALTER TABLE redeliver_jobs DROP COLUMN excused_delivered;
ALTER TABLE redeliver_jobs DROP COLUMN excused_released;
ALTER TABLE redeliver_jobs DROP COLUMN excused_until;
