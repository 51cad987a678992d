-- What a job let out before it was resumed, after it had stopped by itself, says nothing against what comes then: the messages up to this
-- number, and what has become of them.
ALTER TABLE redeliver_jobs
    ADD COLUMN excused_until BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN excused_released BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN excused_delivered BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN excused_failing BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN excused_failed BIGINT NOT NULL DEFAULT 0;
