WITH failed AS (
    UPDATE redeliver_outbox o
       SET attempts = settled.attempt,
           next_attempt_at = clock_timestamp() + settled.wait_ms * interval '1 millisecond',
           last_attempt_at = clock_timestamp(),
           last_error = settled.error,
           last_wait_ms = settled.wait_ms
      FROM unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $9::integer[],
                  $10::bigint[])
           AS settled (shard, number, attempt, wait_ms, took_ms, class, error, redrives, salt)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND o.attempts IN (settled.attempt, settled.attempt - 1)
    RETURNING o.number, o.salt, o.redrives, settled.attempt, settled.took_ms, settled.class, settled.error
)
INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
SELECT number, salt, redrives, attempt, clock_timestamp(), took_ms, class, error, $8 FROM failed
    ON CONFLICT (number, salt, redrive, attempt) DO UPDATE
   SET at = excluded.at, took_ms = excluded.took_ms, class = excluded.class, error = excluded.error, worker = excluded.worker
