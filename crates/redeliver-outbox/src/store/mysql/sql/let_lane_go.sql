-- A head that is live again is no dead letter to go on without: its turn is its own.
UPDATE redeliver_lanes
SET dead_head = IF(EXISTS (SELECT 1 FROM redeliver_outbox live WHERE live.number = ?), NULL, NULLIF(?, 0)),
    head = 0, resumed_at = UTC_TIMESTAMP(3)
WHERE shard = ? AND digest = UNHEX(SHA2(CONCAT(?, CHAR(0), ?), 256)) AND head = ? AND resumed_at IS NULL
