-- With each event ($1 to $4) comes what it becomes ($5): a JSON array of destinations and salts, in the order that the numbers keep.
-- Once an operator has put an event back, its age counts against no message of it either: the redrives come along.
WITH gone AS (
    DELETE FROM redeliver_outbox o
     USING unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[], $5::text[])
           AS settled (shard, number, redrives, salt, branches)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND o.destination = ''
    RETURNING o.*, settled.branches
),
made AS MATERIALIZED (
    SELECT ordered.*,
           -- As the column's default, and for the same reason.
           CASE WHEN pg_current_xact_id() IS NULL THEN NULL ELSE nextval('redeliver_outbox_number') END AS made_number
      FROM (SELECT gone.*, branch.pair ->> 0 AS made_for, (branch.pair ->> 1)::bigint AS made_salt
              FROM gone
             CROSS JOIN LATERAL json_array_elements(gone.branches::json) WITH ORDINALITY AS branch (pair, position)
             ORDER BY gone.number, branch.position) AS ordered
),
noted AS (
    INSERT INTO redeliver_fan_out (event_number, event_salt, destination, number)
    SELECT number, salt, made_for, made_number FROM made WHERE $6
        ON CONFLICT (event_number, destination) DO UPDATE SET event_salt = excluded.event_salt, number = excluded.number
),
kept AS (
    INSERT INTO redeliver_events (number, salt, shard, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                                  created_at, fanned_out_at)
    SELECT number, salt, shard, topic, lane, CASE WHEN $7 THEN payload END, CASE WHEN $7 THEN payload_binary END, content_type, headers,
           traceparent, created_at, clock_timestamp()
      FROM gone
     WHERE $6
        -- Of a number that was given twice, the history keeps the last event.
        ON CONFLICT (number) DO UPDATE
       SET salt = excluded.salt, shard = excluded.shard, topic = excluded.topic, lane = excluded.lane,
           payload = excluded.payload, payload_binary = excluded.payload_binary, content_type = excluded.content_type,
           headers = excluded.headers, traceparent = excluded.traceparent, created_at = excluded.created_at,
           fanned_out_at = excluded.fanned_out_at
)
INSERT INTO redeliver_outbox (number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                              expires_at, created_at, redrives)
SELECT made_number, made_salt, made_for, topic, lane, payload, payload_binary, content_type, headers, traceparent,
       expires_at, created_at, redrives
  FROM made
