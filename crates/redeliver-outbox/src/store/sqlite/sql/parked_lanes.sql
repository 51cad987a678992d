SELECT parked.destination, parked.lane, parked.head, COALESCE(dead.salt, live.salt, 0), parked.parked_at
FROM redeliver_lanes AS parked
LEFT JOIN redeliver_dead AS dead
    ON dead.number = parked.head AND dead.destination = parked.destination AND dead.lane = parked.lane
LEFT JOIN redeliver_outbox AS live ON live.number = parked.head
WHERE parked.resumed_at IS NULL
ORDER BY parked.parked_at, parked.head
