-- What was put off only because the lane stood still is due now; what waits for its own time waits on.
UPDATE redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
SET next_attempt_at = UTC_TIMESTAMP(3)
WHERE shard = ? AND next_attempt_at > UTC_TIMESTAMP(3)
  AND next_attempt_at <= DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
  AND lane_hash = CRC32(?) AND CAST(destination AS BINARY) = CAST(? AS BINARY) AND CAST(lane AS BINARY) = CAST(? AS BINARY)
  AND (last_attempt_at IS NULL OR DATE_ADD(last_attempt_at, INTERVAL LEAST(last_wait_ms, 3153600000000) * 1000 MICROSECOND) <= UTC_TIMESTAMP(3))
  AND (not_before IS NULL OR not_before <= UTC_TIMESTAMP(3))
