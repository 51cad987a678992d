WITH gone AS (
    DELETE FROM redeliver_outbox o
     USING unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[]) AS letter (number, attempts, error, reason, fingerprint)
     WHERE o.number = letter.number
    RETURNING o.*, letter.attempts AS tried, letter.error, letter.reason, letter.fingerprint
)
INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                            not_before, expires_at, created_at, attempts, redrives, last_error, reason, dead_lettered_at, fingerprint)
SELECT number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
       not_before, expires_at, created_at, tried, redrives, error, reason, statement_timestamp(), fingerprint
  FROM gone
