DELETE l
FROM redeliver_sent m
JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256))
WHERE m.number IN ({numbers})
