-- The history has no index by time, because every delivery would pay for it. Messages arrive nearly in the order of their numbers:
-- the old ones are among the first, but for what was put back or put off, and is passed window by window.
WITH old AS MATERIALIZED (
    SELECT number
      FROM (SELECT number, sent_at FROM redeliver_sent WHERE number > $3 ORDER BY number LIMIT $4) AS looked
     WHERE sent_at < now() - $1 * interval '1 millisecond'
     LIMIT $2
),
attempts AS (
    -- The history keeps one message of a number: attempts of an earlier one, which it replaced, go as well. A count is looked up row by
    -- row; NOT EXISTS might become a join that reads the whole outbox.
    DELETE FROM redeliver_attempts a
     USING old
     WHERE a.number = old.number
       AND (SELECT count(*) FROM redeliver_outbox o
             WHERE o.shard = ANY (ARRAY(SELECT shard FROM redeliver_shards)) AND o.number = a.number AND o.salt = a.salt) = 0
       AND (SELECT count(*) FROM redeliver_dead d WHERE d.number = a.number AND d.salt = a.salt) = 0
)
DELETE FROM redeliver_sent s USING old WHERE s.number = old.number
