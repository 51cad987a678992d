WITH blocked AS MATERIALIZED (
    SELECT destination, lane, min(number) AS head
      FROM redeliver_outbox
     WHERE next_attempt_at > now() AND lane IS NOT NULL
     GROUP BY destination, lane
),
live AS (
    SELECT message.destination, message.attempts,
           COALESCE(message.next_attempt_at, GREATEST(message.not_before, message.created_at)) AS due_at,
           CASE WHEN parked.head IS NOT NULL THEN 'parked'
                WHEN message.deferred AND message.next_attempt_at = '9999-12-31 00:00:00+00' THEN 'away'
                WHEN COALESCE(message.next_attempt_at, message.not_before) > now() THEN 'waiting'
                WHEN blocked.head < message.number THEN 'waiting'
                ELSE 'due'
           END AS held
      FROM redeliver_outbox AS message
      LEFT JOIN redeliver_lanes AS parked
        ON parked.shard = message.shard AND parked.destination = message.destination AND parked.lane = message.lane
       AND parked.resumed_at IS NULL AND parked.head <> message.number
      LEFT JOIN blocked ON blocked.destination = message.destination AND blocked.lane = message.lane
)
SELECT destination, attempts, held, count(*), min(due_at)
  FROM live
 GROUP BY destination, attempts, held
