SELECT l.head, COALESCE(d.salt, h.salt, 0)
FROM redeliver_outbox m
JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256))
    AND l.resumed_at IS NULL AND l.head NOT IN (0, m.number)
LEFT JOIN redeliver_dead d ON d.number = l.head AND d.destination = l.destination AND d.lane = l.lane
LEFT JOIN redeliver_outbox h ON h.number = l.head
WHERE m.number = ?
