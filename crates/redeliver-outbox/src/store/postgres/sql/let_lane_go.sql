-- A head that is live again is no dead letter to go on without: its turn is its own.
UPDATE redeliver_lanes
   SET dead_head = CASE WHEN NOT EXISTS (SELECT FROM redeliver_outbox AS live WHERE live.shard = $1 AND live.number = $5)
                        THEN NULLIF($5::bigint, 0) END,
       head = 0, resumed_at = clock_timestamp()
 WHERE shard = $1 AND destination = $2 AND lane = $3 AND head = $4 AND resumed_at IS NULL
