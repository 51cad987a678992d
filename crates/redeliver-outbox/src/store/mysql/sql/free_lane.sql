UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number AND m.salt & 4611686018427387903 = j.salt
STRAIGHT_JOIN redeliver_lanes l FORCE INDEX (PRIMARY)
    ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.head = m.number
SET l.resumed_at = UTC_TIMESTAMP(3)
WHERE m.discarded_at IS NULL AND l.resumed_at IS NULL
