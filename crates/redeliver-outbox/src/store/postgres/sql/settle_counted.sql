WITH counted AS (
    UPDATE redeliver_outbox o
       SET attempts = settled.attempt, last_attempt_at = clock_timestamp()
      FROM unnest($1::smallint[], $2::bigint[], $3::integer[], $6::integer[], $7::bigint[])
           AS settled (shard, number, attempt, redrives, salt)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND o.attempts IN (settled.attempt, settled.attempt - 1)
    RETURNING o.number, o.salt, o.redrives, settled.attempt
)
INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
SELECT number, salt, redrives, attempt, clock_timestamp(), NULL, 'interrupted', $5, $4 FROM counted
    ON CONFLICT (number, salt, redrive, attempt) DO NOTHING
