-- Those that come soonest are the retries; what is only scheduled for a later day is behind them.
WITH scheduled AS (
    SELECT number
    FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
    WHERE shard IN ({shards}) AND next_attempt_at > UTC_TIMESTAMP(3) 
      AND NOT (deferred AND next_attempt_at = TIMESTAMP '9999-12-31 00:00:00')
    ORDER BY next_attempt_at
    LIMIT ?
),
heads AS (
    SELECT MIN(m.number) AS number
    FROM scheduled
    STRAIGHT_JOIN redeliver_outbox m FORCE INDEX (PRIMARY) ON m.number = scheduled.number
    WHERE m.attempts > 0 AND m.lane IS NOT NULL
    GROUP BY CAST(m.destination AS BINARY), CAST(m.lane AS BINARY)
)
SELECT m.shard, m.destination, m.lane, m.number, m.salt, m.attempts, m.next_attempt_at, m.last_error, m.created_at
FROM heads
STRAIGHT_JOIN redeliver_outbox m FORCE INDEX (PRIMARY) ON m.number = heads.number
LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.resumed_at IS NULL
WHERE l.head IS NULL
ORDER BY m.created_at, m.number
LIMIT ?
