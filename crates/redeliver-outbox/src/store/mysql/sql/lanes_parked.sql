SELECT l.shard, l.destination, l.lane, COALESCE(NULLIF(l.head, 0), d.number, 0), COALESCE(d.salt, h.salt, 0), d.reason, l.parked_at,
    l.head = 0, l.who, l.why
FROM redeliver_lanes l
LEFT JOIN redeliver_dead d ON d.number = COALESCE(NULLIF(l.head, 0), l.dead_head) AND d.lane = l.lane AND (l.head <> 0 OR (d.discarded_at IS NULL AND d.destination = l.destination))
LEFT JOIN redeliver_outbox h ON h.number = l.head
WHERE l.resumed_at IS NULL
ORDER BY l.parked_at, l.head
LIMIT ?
