-- Acts on many dead letters that go on by themselves: a few first, then more and more.
CREATE TABLE redeliver_jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT    NOT NULL CHECK (kind IN ('redrive', 'discard')),
    matching      TEXT    NOT NULL, -- which dead letters, as JSON
    who           TEXT    NOT NULL,
    why           TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('canary', 'ramping', 'paused', 'done', 'stopped', 'cancelled')),
    canary        INTEGER NOT NULL,
    factor        INTEGER NOT NULL,
    interval_ms   INTEGER NOT NULL,
    stop_permille INTEGER NOT NULL,
    matched       INTEGER NOT NULL,
    released      INTEGER NOT NULL DEFAULT 0,
    delivered     INTEGER NOT NULL DEFAULT 0,
    failing       INTEGER NOT NULL DEFAULT 0,
    failed        INTEGER NOT NULL DEFAULT 0,
    wave          INTEGER NOT NULL DEFAULT 0,
    exhausted     INTEGER NOT NULL DEFAULT 0,
    reached       INTEGER NOT NULL DEFAULT 0,
    looked        INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    next_step_at  INTEGER NOT NULL,
    runner        TEXT,
    runner_until  INTEGER,
    note          TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX local_redeliver_jobs_due ON redeliver_jobs (next_step_at) WHERE state IN ('canary', 'ramping');

-- What a job let out, in which life of the message, and what became of it.
CREATE TABLE redeliver_job_messages (
    job      INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    salt     INTEGER NOT NULL,
    shard    INTEGER NOT NULL,
    redrives INTEGER NOT NULL,
    outcome  TEXT CHECK (outcome IN ('failing', 'failed', 'delivered')),
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE INDEX local_redeliver_job_messages_open ON redeliver_job_messages (job, outcome, number)
WHERE outcome IS NULL OR outcome = 'failing';
