WITH gone AS (
    DELETE FROM redeliver_outbox o
     USING unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
                  $9::boolean[], $10::boolean[], $12::integer[], $13::bigint[], $14::text[])
           AS settled (shard, number, attempt, took_ms, class, attempt_error, reason, error, gap, park, redrives, salt, fingerprint)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND (settled.attempt IS NULL OR o.attempts IN (settled.attempt, settled.attempt - 1))
    RETURNING o.*, settled.attempt, settled.took_ms, settled.class, settled.attempt_error, settled.reason, settled.error, settled.gap,
              settled.park, settled.fingerprint
),
attempted AS (
    INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
    SELECT number, salt, redrives, attempt, clock_timestamp(), took_ms, class, attempt_error, $11 FROM gone WHERE attempt IS NOT NULL
        ON CONFLICT (number, salt, redrive, attempt) DO UPDATE
       SET at = excluded.at, took_ms = excluded.took_ms, class = excluded.class, error = excluded.error, worker = excluded.worker
),
parked AS (
    INSERT INTO redeliver_lanes AS standing (shard, destination, lane, head, parked_at)
    SELECT DISTINCT ON (shard, destination, lane) shard, destination, lane, number, clock_timestamp()
      FROM gone
     WHERE park AND lane IS NOT NULL
     ORDER BY shard, destination, lane, number
        -- A lane that an operator has parked stays so, whatever dies in it.
        ON CONFLICT (shard, destination, lane) DO UPDATE
       SET dead_head = CASE WHEN standing.head = 0 AND standing.resumed_at IS NULL THEN excluded.head END,
           head = CASE WHEN standing.head = 0 AND standing.resumed_at IS NULL THEN 0 ELSE excluded.head END,
           parked_at = CASE WHEN standing.head = 0 AND standing.resumed_at IS NULL THEN standing.parked_at ELSE excluded.parked_at END,
           resumed_at = NULL
)
INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                            not_before, expires_at, created_at, attempts, redrives, last_attempt_at, last_error, reason, gap,
                            dead_lettered_at, fingerprint)
SELECT number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
       not_before, expires_at, created_at, COALESCE(attempt, attempts), redrives,
       CASE WHEN attempt IS NULL THEN last_attempt_at ELSE clock_timestamp() END, error, reason, gap, clock_timestamp(), fingerprint
  FROM gone
    -- The same message again, live after a restore: it dies once more.
    ON CONFLICT (number, salt) DO UPDATE
   SET attempts = excluded.attempts, redrives = excluded.redrives, last_attempt_at = excluded.last_attempt_at,
       last_error = excluded.last_error, reason = excluded.reason, gap = excluded.gap, dead_lettered_at = excluded.dead_lettered_at,
       discarded_at = NULL, fingerprint = excluded.fingerprint
