SELECT parked.shard, parked.destination, parked.lane, COALESCE(NULLIF(parked.head, 0), dead.number, 0),
    COALESCE(dead.salt, live.salt, 0), dead.reason, parked.parked_at, parked.head = 0, parked.who, parked.why
FROM redeliver_lanes AS parked
LEFT JOIN redeliver_dead AS dead
    ON dead.number = COALESCE(NULLIF(parked.head, 0), parked.dead_head) AND dead.lane = parked.lane
    AND (parked.head <> 0 OR (dead.discarded_at IS NULL AND dead.destination = parked.destination))
LEFT JOIN redeliver_outbox AS live ON live.number = parked.head
WHERE parked.resumed_at IS NULL
ORDER BY parked.parked_at, parked.head
LIMIT ?1
