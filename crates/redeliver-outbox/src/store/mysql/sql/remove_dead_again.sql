-- A message that is live again after a restore dies once more: its letter from before makes way. Not ON DUPLICATE KEY UPDATE, which
-- would change another letter where an operator has a unique index.
DELETE d
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
STRAIGHT_JOIN redeliver_dead d FORCE INDEX (PRIMARY) ON d.number = o.number AND d.salt = o.salt
