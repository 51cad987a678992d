-- A number may be given twice, by a restored or reset sequence: an attempt belongs to a whole id. Attempts from before belong to the
-- message that has their number now; those without one keep 0.
ALTER TABLE redeliver_attempts ADD COLUMN salt bigint NOT NULL DEFAULT 0;
UPDATE redeliver_attempts a
   SET salt = s.salt
  FROM redeliver_sent s
 WHERE s.number = a.number;
UPDATE redeliver_attempts a
   SET salt = d.salt
  FROM (SELECT DISTINCT ON (number) number, salt FROM redeliver_dead ORDER BY number, dead_lettered_at DESC, salt DESC) AS d
 WHERE d.number = a.number;
UPDATE redeliver_attempts a
   SET salt = o.salt
  FROM redeliver_outbox o
 WHERE o.number = a.number;
ALTER TABLE redeliver_attempts
    ALTER COLUMN salt DROP DEFAULT,
    DROP CONSTRAINT local_redeliver_attempts_pkey,
    ADD PRIMARY KEY (number, salt, redrive, attempt);
