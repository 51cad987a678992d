INSERT INTO redeliver_lanes (shard, digest, destination, lane, head, parked_at)
SELECT m.shard, UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)), m.destination, m.lane, m.number, UTC_TIMESTAMP(3)
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number AND m.salt & 4611686018427387903 = j.salt
WHERE m.lane IS NOT NULL
-- A lane that an operator has parked stays so, whatever dies in it. MySQL assigns from left to right.
ON DUPLICATE KEY UPDATE
    dead_head = IF(redeliver_lanes.head = 0 AND redeliver_lanes.resumed_at IS NULL, VALUES(head), NULL),
    parked_at = IF(redeliver_lanes.head = 0 AND redeliver_lanes.resumed_at IS NULL, redeliver_lanes.parked_at, VALUES(parked_at)),
    head = IF(redeliver_lanes.head = 0 AND redeliver_lanes.resumed_at IS NULL, 0, VALUES(head)),
    resumed_at = NULL
