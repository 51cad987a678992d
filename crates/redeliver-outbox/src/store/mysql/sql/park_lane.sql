INSERT INTO redeliver_lanes (shard, digest, destination, lane, head, parked_at)
SELECT m.shard, UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256)), m.destination, m.lane, m.number, UTC_TIMESTAMP(3)
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number
WHERE m.lane IS NOT NULL
ON DUPLICATE KEY UPDATE head = VALUES(head), parked_at = VALUES(parked_at), resumed_at = NULL
