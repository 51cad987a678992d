WITH blocked AS MATERIALIZED (
    SELECT destination, lane, MIN(number) AS head
    FROM redeliver_outbox
    WHERE next_attempt_at > ?1 AND lane IS NOT NULL
    GROUP BY destination, lane
),
live AS (
    SELECT message.destination,
        COALESCE(message.next_attempt_at, MAX(COALESCE(message.not_before, 0), message.created_at)) AS due_at,
        CASE
            WHEN parked.head IS NOT NULL THEN 'parked'
            WHEN message.next_attempt_at = 253402214400000 THEN 'away'
            WHEN COALESCE(message.next_attempt_at, message.not_before, 0) > ?1 THEN 'waiting'
            WHEN blocked.head < message.number THEN 'waiting'
            ELSE 'due'
        END AS held
    FROM redeliver_outbox AS message
    LEFT JOIN redeliver_lanes AS parked
        ON parked.shard = message.shard AND parked.destination = message.destination AND parked.lane = message.lane
        AND parked.resumed_at IS NULL AND parked.head <> message.number
    LEFT JOIN blocked ON blocked.destination = message.destination AND blocked.lane = message.lane
)
SELECT destination,
    COUNT(*) FILTER (WHERE held = 'due'),
    COUNT(*) FILTER (WHERE held = 'waiting'),
    COUNT(*) FILTER (WHERE held = 'parked'),
    COUNT(*) FILTER (WHERE held = 'away'),
    MIN(due_at) FILTER (WHERE held = 'due')
FROM live
GROUP BY destination
