UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_job_messages m FORCE INDEX (PRIMARY) ON m.job = ? AND m.number = j.number
SET m.outcome = ?
