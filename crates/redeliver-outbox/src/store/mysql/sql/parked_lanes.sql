SELECT l.destination, l.lane, l.head, COALESCE(d.salt, h.salt, 0), l.parked_at
FROM redeliver_lanes l
LEFT JOIN redeliver_dead d ON d.number = l.head AND d.destination = l.destination AND d.lane = l.lane
LEFT JOIN redeliver_outbox h ON h.number = l.head
WHERE l.resumed_at IS NULL
ORDER BY l.parked_at, l.head
