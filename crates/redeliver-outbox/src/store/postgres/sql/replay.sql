-- Whoever notes an event's message first makes it; another replay waits for that and goes without. Its age counts from now: it is sent
-- today because an operator wants it to.
WITH chosen AS MATERIALIZED (
    SELECT ordered.*,
           CASE WHEN pg_current_xact_id() IS NULL THEN NULL ELSE nextval('redeliver_outbox_number') END AS made_number
      FROM (SELECT event.*, named.salt AS made_salt
              FROM unnest($1::bigint[], $2::bigint[]) AS named (number, salt)
              JOIN redeliver_events AS event ON event.number = named.number
             ORDER BY event.number) AS ordered
),
noted AS (
    INSERT INTO redeliver_fan_out (event_number, event_salt, destination, number)
    SELECT number, salt, $3, made_number FROM chosen
        ON CONFLICT (event_number, destination) DO NOTHING
    RETURNING number
)
INSERT INTO redeliver_outbox (number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent)
SELECT made_number, made_salt, $3, topic, lane, payload, payload_binary, content_type, headers, traceparent
  FROM chosen
 WHERE made_number IN (SELECT number FROM noted)
