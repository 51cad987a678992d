WITH given AS MATERIALIZED (
    SELECT m.*,
           CASE WHEN pg_current_xact_id() IS NULL THEN NULL ELSE nextval('redeliver_outbox_number') END AS number,
           (random() * 4611686018427387903)::bigint AS salt,
           clock_timestamp() AS now,
           (SELECT count(*) FROM redeliver_shards) AS shards
      FROM (SELECT *
              FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
                          $9::bigint[], $10::timestamptz[], $11::bigint[], $12::integer[], $13::text[], $14::text[])
                   WITH ORDINALITY
                   AS m (destination, lane, payload, payload_binary, content_type, headers, traceparent, due_at, due_after, expires_at,
                         expires_after, attempts, reason, error, place)
             ORDER BY place) AS m
),
imported AS (
    INSERT INTO redeliver_dead (number, salt, shard, destination, lane, payload, payload_binary, content_type, headers, traceparent,
                                not_before, expires_at, created_at, attempts, redrives, last_error, reason, dead_lettered_at)
    SELECT number, salt,
           (CASE WHEN lane IS NULL THEN number % shards ELSE (hashtext(lane) & 2147483647) % shards END)::smallint,
           destination, lane, payload, payload_binary, content_type, headers, traceparent,
           COALESCE(due_at, now + due_after * interval '1 millisecond'),
           COALESCE(expires_at, now + expires_after * interval '1 millisecond'),
           now, attempts, 0, error, reason, now
      FROM given
),
noted AS (
    INSERT INTO redeliver_audit (at, who, action, message_number, message_salt, why)
    SELECT now, $15, 'import', number, salt, $16 FROM given ORDER BY place
)
SELECT number, salt FROM given ORDER BY place
