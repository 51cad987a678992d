-- Those that come soonest are the retries; what is only scheduled for a later day is behind them.
WITH scheduled AS MATERIALIZED (
    SELECT shard, destination, lane, number, attempts
    FROM redeliver_outbox
    WHERE next_attempt_at > ?1 AND NOT (deferred AND next_attempt_at = 253402214400000)
    ORDER BY next_attempt_at
    LIMIT ?2
),
heads AS MATERIALIZED (
    SELECT destination, lane, MIN(number) AS number
    FROM scheduled
    WHERE attempts > 0 AND lane IS NOT NULL
    GROUP BY destination, lane
)
SELECT head.shard, head.destination, head.lane, head.number, head.salt, head.attempts, head.next_attempt_at, head.last_error,
    head.created_at
FROM heads
JOIN redeliver_outbox AS head ON head.number = heads.number
WHERE NOT EXISTS (
    SELECT 1 FROM redeliver_lanes AS parked
    WHERE parked.shard = head.shard AND parked.destination = head.destination AND parked.lane = head.lane AND parked.resumed_at IS NULL)
ORDER BY head.created_at, head.number
LIMIT ?3
