-- By way of the head's row, which is still there.
DELETE l
FROM redeliver_outbox m
JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.head = m.number
WHERE m.number IN ({numbers})
