-- The history has no index by time, because every delivery would pay for it. Messages arrive nearly in the order of their numbers:
-- the old ones are among the first.
WITH old AS MATERIALIZED (
    SELECT number
      FROM (SELECT number, sent_at FROM redeliver_sent ORDER BY number LIMIT $2 * 10) AS first
     WHERE sent_at < now() - $1 * interval '1 millisecond'
     LIMIT $2
),
attempts AS (
    DELETE FROM redeliver_attempts a USING old WHERE a.number = old.number
)
DELETE FROM redeliver_sent s USING old WHERE s.number = old.number
