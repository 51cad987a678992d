-- What a job let out before it was resumed, after it had stopped by itself, says nothing against what comes then: the messages up to this
-- number, and what has become of them.
ALTER TABLE redeliver_jobs
    ADD COLUMN excused_until bigint NOT NULL DEFAULT 0,
    ADD COLUMN excused_released bigint NOT NULL DEFAULT 0,
    ADD COLUMN excused_delivered bigint NOT NULL DEFAULT 0,
    ADD COLUMN excused_failing bigint NOT NULL DEFAULT 0,
    ADD COLUMN excused_failed bigint NOT NULL DEFAULT 0;
