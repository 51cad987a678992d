-- What died in the lane is kept in mind: when the lane goes on, it goes on without it.
INSERT INTO redeliver_lanes AS parked (shard, destination, lane, head, parked_at, who, why)
VALUES ($1, $2, $3, 0, clock_timestamp(), $4, $5)
    ON CONFLICT (shard, destination, lane) DO UPDATE
   SET dead_head = COALESCE(NULLIF(parked.head, 0), parked.dead_head), head = 0, parked_at = excluded.parked_at, resumed_at = NULL,
       who = excluded.who, why = excluded.why
 WHERE parked.head <> 0 OR parked.resumed_at IS NOT NULL
