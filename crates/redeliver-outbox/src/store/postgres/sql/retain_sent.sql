-- The history has no index by time, because every delivery would pay for it. Messages arrive nearly in the order of their numbers:
-- the old ones are among the first, but for what was put back or put off, and is passed window by window.
WITH old AS MATERIALIZED (
    SELECT number
      FROM (SELECT number, sent_at FROM redeliver_sent WHERE number > $3 ORDER BY number LIMIT $4) AS looked
     WHERE sent_at < now() - $1 * interval '1 millisecond'
     LIMIT $2
),
attempts AS (
    DELETE FROM redeliver_attempts a USING old WHERE a.number = old.number
)
DELETE FROM redeliver_sent s USING old WHERE s.number = old.number
