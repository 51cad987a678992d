-- By way of the head's row, which is still there.
DELETE l
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_outbox m FORCE INDEX (PRIMARY) ON m.number = j.number
STRAIGHT_JOIN redeliver_lanes l FORCE INDEX (PRIMARY)
    ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)) AND l.head = m.number
