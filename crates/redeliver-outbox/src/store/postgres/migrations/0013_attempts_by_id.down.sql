-- Of two messages with one number, the newer attempt stays.
DELETE FROM redeliver_attempts a
 USING redeliver_attempts newer
 WHERE newer.number = a.number AND newer.redrive = a.redrive AND newer.attempt = a.attempt
   AND (newer.at, newer.salt) > (a.at, a.salt);
ALTER TABLE redeliver_attempts
    DROP CONSTRAINT local_redeliver_attempts_pkey,
    DROP COLUMN salt,
    ADD PRIMARY KEY (number, redrive, attempt);
