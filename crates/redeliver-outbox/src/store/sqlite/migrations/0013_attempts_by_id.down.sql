CREATE TABLE redeliver_attempts_before AS SELECT * FROM redeliver_attempts;
DROP TABLE redeliver_attempts;
CREATE TABLE redeliver_attempts (
    number   INTEGER NOT NULL,
    redrive  INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took_ms  INTEGER,
    class    TEXT    NOT NULL,
    error    TEXT    NOT NULL,
    worker   TEXT    NOT NULL,
    PRIMARY KEY (number, redrive, attempt)
) WITHOUT ROWID;
-- Of two messages with one number, the newer attempt stays.
INSERT OR REPLACE INTO redeliver_attempts (number, redrive, attempt, at, took_ms, class, error, worker)
SELECT number, redrive, attempt, at, took_ms, class, error, worker
FROM redeliver_attempts_before
ORDER BY at, salt;
DROP TABLE redeliver_attempts_before;
