-- Acts on many dead letters that go on by themselves: a few first, then more and more.
CREATE TABLE IF NOT EXISTS redeliver_jobs (
    id            BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind          VARCHAR(40) NOT NULL CHECK (kind IN ('redrive', 'discard')),
    matching      LONGTEXT NOT NULL, -- which dead letters, as JSON
    who           TEXT NOT NULL,
    why           TEXT NOT NULL,
    state         VARCHAR(40) NOT NULL CHECK (state IN ('canary', 'ramping', 'paused', 'done', 'stopped', 'cancelled')),
    canary        BIGINT NOT NULL,
    factor        BIGINT NOT NULL,
    interval_ms   BIGINT NOT NULL,
    stop_permille BIGINT NOT NULL,
    matched       BIGINT NOT NULL,
    released      BIGINT NOT NULL DEFAULT 0,
    delivered     BIGINT NOT NULL DEFAULT 0,
    failing       BIGINT NOT NULL DEFAULT 0,
    failed        BIGINT NOT NULL DEFAULT 0,
    wave          BIGINT NOT NULL DEFAULT 0,
    exhausted     BOOLEAN NOT NULL DEFAULT false,
    reached       BIGINT NOT NULL DEFAULT 0,
    looked        BIGINT NOT NULL DEFAULT 0,
    created_at    DATETIME(3) NOT NULL,
    updated_at    DATETIME(3) NOT NULL,
    next_step_at  DATETIME(3) NOT NULL,
    runner        TEXT,
    runner_until  DATETIME(3),
    note          TEXT NOT NULL,
    KEY local_redeliver_jobs_due (state, next_step_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What a job let out, in which life of the message, and what became of it.
CREATE TABLE IF NOT EXISTS redeliver_job_messages (
    job      BIGINT NOT NULL,
    number   BIGINT NOT NULL,
    salt     BIGINT NOT NULL,
    shard    SMALLINT NOT NULL,
    redrives INT NOT NULL,
    outcome  VARCHAR(40) CHECK (outcome IN ('failing', 'failed', 'delivered')),
    PRIMARY KEY (job, number),
    KEY local_redeliver_job_messages_open (job, outcome, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
