-- A number may be given twice, after a restore or a reset of sqlite_sequence: an attempt belongs to a whole id. Attempts from before
-- belong to the message that has their number now; those without one get 0. SQLite changes no primary key: the table is made again.
CREATE TABLE redeliver_attempts_before AS SELECT * FROM redeliver_attempts;
DROP TABLE redeliver_attempts;
CREATE TABLE redeliver_attempts (
    number   INTEGER NOT NULL,
    salt     INTEGER NOT NULL,
    redrive  INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took_ms  INTEGER,
    class    TEXT    NOT NULL,
    error    TEXT    NOT NULL,
    worker   TEXT    NOT NULL,
    PRIMARY KEY (number, salt, redrive, attempt)
) WITHOUT ROWID;
INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
SELECT
    a.number,
    COALESCE(
        (SELECT o.salt FROM redeliver_outbox o WHERE o.number = a.number),
        (SELECT d.salt FROM redeliver_dead d WHERE d.number = a.number ORDER BY d.dead_lettered_at DESC, d.salt DESC LIMIT 1),
        (SELECT s.salt FROM redeliver_sent s WHERE s.number = a.number),
        0),
    a.redrive, a.attempt, a.at, a.took_ms, a.class, a.error, a.worker
FROM redeliver_attempts_before a;
DROP TABLE redeliver_attempts_before;
