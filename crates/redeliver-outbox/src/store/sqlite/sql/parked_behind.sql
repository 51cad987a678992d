SELECT parked.head, COALESCE(dead.salt, live.salt, 0)
FROM redeliver_outbox AS message
JOIN redeliver_lanes AS parked
    ON parked.shard = message.shard AND parked.destination = message.destination AND parked.lane = message.lane
    AND parked.resumed_at IS NULL AND parked.head NOT IN (0, message.number)
LEFT JOIN redeliver_dead AS dead
    ON dead.number = parked.head AND dead.destination = parked.destination AND dead.lane = parked.lane
LEFT JOIN redeliver_outbox AS live ON live.number = parked.head
WHERE message.number = ?1
