-- Of two messages with one number, the newer attempt stays.
DELETE a
FROM redeliver_attempts a
JOIN redeliver_attempts newer ON newer.number = a.number AND newer.redrive = a.redrive AND newer.attempt = a.attempt
    AND (newer.at, newer.salt) > (a.at, a.salt);
ALTER TABLE redeliver_attempts DROP PRIMARY KEY, DROP COLUMN salt, ADD PRIMARY KEY (number, redrive, attempt);
