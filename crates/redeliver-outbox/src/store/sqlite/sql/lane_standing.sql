SELECT parked.shard, parked.head, parked.parked_at, parked.who, parked.why, COALESCE(NULLIF(parked.head, 0), parked.dead_head, 0),
    dead.salt
FROM redeliver_lanes AS parked
LEFT JOIN redeliver_dead AS dead
    ON dead.number = COALESCE(NULLIF(parked.head, 0), parked.dead_head) AND dead.discarded_at IS NULL
    AND dead.destination = parked.destination AND dead.lane = parked.lane
WHERE parked.destination = ?1 AND parked.lane = ?2 AND parked.resumed_at IS NULL
