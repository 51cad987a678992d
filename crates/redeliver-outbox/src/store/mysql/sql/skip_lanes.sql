-- A head that was put back and died again, where lanes no longer wait.
DELETE l
FROM redeliver_dead m
JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.head = m.number
WHERE m.number IN ({numbers})
