-- Those that come soonest are the retries; what is only scheduled for a later day is behind them.
WITH scheduled AS MATERIALIZED (
    SELECT o.*
      FROM redeliver_shards s
     CROSS JOIN LATERAL (SELECT shard, destination, lane, number, attempts
                           FROM redeliver_outbox
                          WHERE shard = s.shard AND next_attempt_at > now() 
                            AND NOT (deferred AND next_attempt_at = '9999-12-31 00:00:00+00')
                          ORDER BY next_attempt_at
                          LIMIT (SELECT $1 / count(*) + 1 FROM redeliver_shards)) AS o
),
heads AS MATERIALIZED (
    SELECT shard, destination, lane, min(number) AS number
      FROM scheduled
     WHERE attempts > 0 AND lane IS NOT NULL
     GROUP BY shard, destination, lane
)
SELECT head.shard, head.destination, head.lane, head.number, head.salt, head.attempts, head.next_attempt_at, head.last_error,
       head.created_at
  FROM heads
  JOIN redeliver_outbox AS head ON head.shard = heads.shard AND head.number = heads.number
 WHERE NOT EXISTS (SELECT FROM redeliver_lanes AS parked
                    WHERE parked.shard = head.shard AND parked.destination = head.destination AND parked.lane = head.lane
                      AND parked.resumed_at IS NULL)
 ORDER BY head.created_at, head.number
 LIMIT $2
