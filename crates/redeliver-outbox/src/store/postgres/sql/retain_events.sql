-- By number, as the history of what was sent: events fan out nearly in the order of their numbers.
WITH old AS MATERIALIZED (
    SELECT number
      FROM (SELECT number, fanned_out_at FROM redeliver_events WHERE number > $3 ORDER BY number LIMIT $4) AS looked
     WHERE fanned_out_at < now() - $1 * interval '1 millisecond'
     LIMIT $2
),
branches AS (
    DELETE FROM redeliver_fan_out f USING old WHERE f.event_number = old.number
)
DELETE FROM redeliver_events e USING old WHERE e.number = old.number
