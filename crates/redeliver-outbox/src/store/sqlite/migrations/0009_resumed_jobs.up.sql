-- What a job let out before it was resumed, after it had stopped by itself, says nothing against what comes then: the messages up to this
-- number, and what has become of them.
ALTER TABLE redeliver_jobs ADD COLUMN excused_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE redeliver_jobs ADD COLUMN excused_released INTEGER NOT NULL DEFAULT 0;
ALTER TABLE redeliver_jobs ADD COLUMN excused_delivered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE redeliver_jobs ADD COLUMN excused_failing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE redeliver_jobs ADD COLUMN excused_failed INTEGER NOT NULL DEFAULT 0;
