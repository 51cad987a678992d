SELECT l.shard, l.head, l.parked_at, l.who, l.why, COALESCE(NULLIF(l.head, 0), l.dead_head, 0), d.salt
FROM redeliver_lanes l
LEFT JOIN redeliver_dead d ON d.number = COALESCE(NULLIF(l.head, 0), l.dead_head) AND d.discarded_at IS NULL
    AND d.destination = l.destination AND d.lane = l.lane
WHERE l.digest = UNHEX(SHA2(CONCAT(?, CHAR(0), ?), 256)) AND l.resumed_at IS NULL
