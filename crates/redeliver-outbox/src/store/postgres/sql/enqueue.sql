WITH given AS MATERIALIZED (
    SELECT m.*,
           CASE WHEN pg_current_xact_id() IS NULL THEN NULL ELSE nextval('redeliver_outbox_number') END AS number,
           (random() * 4611686018427387903)::bigint AS salt,
           clock_timestamp() AS now
      FROM (SELECT *
              FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
                          $9::bigint[], $10::timestamptz[], $11::bigint[], $12::text[])
                   WITH ORDINALITY
                   AS m (destination, lane, payload, payload_binary, content_type, headers, traceparent, due_at, due_after, expires_at,
                         expires_after, deduplication_key, place)
             ORDER BY place) AS m
),
-- By key, so that two who remember the same keys at once wait for each other in one order.
remembered AS (
    INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
    SELECT deduplication_key, number, salt FROM given WHERE deduplication_key IS NOT NULL ORDER BY deduplication_key, place
        ON CONFLICT (deduplication_key) DO NOTHING
    RETURNING number
),
inserted AS (
    INSERT INTO redeliver_outbox (number, salt, destination, lane, payload, payload_binary, content_type, headers, traceparent,
                                  not_before, expires_at, created_at)
    SELECT number, salt, destination, lane, payload, payload_binary, content_type, headers, traceparent,
           COALESCE(due_at, now + due_after * interval '1 millisecond'),
           COALESCE(expires_at, now + expires_after * interval '1 millisecond'),
           now
      FROM given
     WHERE deduplication_key IS NULL OR number IN (SELECT number FROM remembered)
     ORDER BY place
    RETURNING number
)
SELECT given.place, given.number, given.salt, inserted.number IS NOT NULL
  FROM given
  LEFT JOIN inserted ON inserted.number = given.number
 ORDER BY given.place
