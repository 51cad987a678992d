-- Every statement may run again, as in the first step; a column that is there already is no error here.
-- A number may be given twice, after a restore or a reset of AUTO_INCREMENT: an attempt belongs to a whole id. Attempts from before
-- belong to the message that has their number now; those without one keep 0.
ALTER TABLE redeliver_attempts ADD COLUMN salt BIGINT NOT NULL DEFAULT 0 AFTER number;
UPDATE redeliver_attempts a
JOIN redeliver_outbox o ON o.number = a.number
SET a.salt = o.salt
WHERE a.salt = 0;
UPDATE redeliver_attempts a
JOIN redeliver_dead d ON d.number = a.number
LEFT JOIN redeliver_dead newer ON newer.number = d.number
    AND (newer.dead_lettered_at, newer.salt) > (d.dead_lettered_at, d.salt)
SET a.salt = d.salt
WHERE a.salt = 0 AND newer.number IS NULL;
UPDATE redeliver_attempts a
JOIN redeliver_sent s ON s.number = a.number
SET a.salt = s.salt
WHERE a.salt = 0;
ALTER TABLE redeliver_attempts
    MODIFY COLUMN salt BIGINT NOT NULL,
    DROP PRIMARY KEY,
    ADD PRIMARY KEY (number, salt, redrive, attempt);
