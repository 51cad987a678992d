-- A message behind one of its lane that waits for its time waits too.
WITH blocked AS (
    SELECT shard, destination, lane, MIN(number) AS head
    FROM redeliver_outbox
    WHERE next_attempt_at > UTC_TIMESTAMP(3) AND lane IS NOT NULL
    GROUP BY shard, destination, lane
),
live AS (
    SELECT
        m.destination,
        m.attempts,
        COALESCE(m.next_attempt_at, GREATEST(COALESCE(m.not_before, m.created_at), m.created_at)) AS due_at,
        CASE
            WHEN l.head IS NOT NULL THEN 'parked'
            WHEN m.deferred AND m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00' THEN 'away'
            WHEN COALESCE(m.next_attempt_at, m.not_before) > UTC_TIMESTAMP(3) OR b.head < m.number THEN 'waiting'
            ELSE 'due'
        END AS held
    FROM redeliver_outbox m
    LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256))
        AND l.resumed_at IS NULL AND l.head <> m.number
    LEFT JOIN blocked b ON b.shard = m.shard AND b.destination = m.destination AND b.lane = m.lane
)
SELECT destination, attempts, held, COUNT(*), MIN(due_at)
FROM live
GROUP BY destination, attempts, held
