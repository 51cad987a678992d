UPDATE redeliver_dead m
JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.head = m.number
SET l.resumed_at = UTC_TIMESTAMP(3)
WHERE m.number IN ({numbers}) AND m.discarded_at IS NULL AND l.resumed_at IS NULL
