UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number AND m.salt & 4611686018427387903 = j.salt
SET m.discarded_at = ?
WHERE m.discarded_at IS NULL
