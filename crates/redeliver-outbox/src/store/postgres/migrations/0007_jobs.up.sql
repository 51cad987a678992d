-- Acts on many dead letters that go on by themselves: a few first, then more and more.
CREATE TABLE redeliver_jobs (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind          text        NOT NULL CHECK (kind IN ('redrive', 'discard')),
    matching      text        NOT NULL, -- which dead letters, as JSON
    who           text        NOT NULL,
    why           text        NOT NULL,
    state         text        NOT NULL CHECK (state IN ('canary', 'ramping', 'paused', 'done', 'stopped', 'cancelled')),
    canary        bigint      NOT NULL,
    factor        bigint      NOT NULL,
    interval_ms   bigint      NOT NULL,
    stop_permille bigint      NOT NULL,
    matched       bigint      NOT NULL,
    released      bigint      NOT NULL DEFAULT 0,
    delivered     bigint      NOT NULL DEFAULT 0,
    failing       bigint      NOT NULL DEFAULT 0,
    failed        bigint      NOT NULL DEFAULT 0,
    wave          bigint      NOT NULL DEFAULT 0,
    exhausted     boolean     NOT NULL DEFAULT false,
    reached       bigint      NOT NULL DEFAULT 0,
    looked        bigint      NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    next_step_at  timestamptz NOT NULL,
    runner        text,
    runner_until  timestamptz,
    note          text        NOT NULL DEFAULT ''
);
CREATE INDEX local_redeliver_jobs_due ON redeliver_jobs (next_step_at) WHERE state IN ('canary', 'ramping');

-- What a job let out, in which life of the message, and what became of it.
CREATE TABLE redeliver_job_messages (
    job      bigint   NOT NULL,
    number   bigint   NOT NULL,
    salt     bigint   NOT NULL,
    shard    smallint NOT NULL,
    redrives integer  NOT NULL,
    outcome  text CHECK (outcome IN ('failing', 'failed', 'delivered')),
    PRIMARY KEY (job, number)
);
CREATE INDEX local_redeliver_job_messages_open ON redeliver_job_messages (job, outcome, number)
 WHERE outcome IS NULL OR outcome = 'failing';
