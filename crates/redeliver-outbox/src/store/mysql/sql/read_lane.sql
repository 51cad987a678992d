-- The hash finds the lane and the rest tells it from others of that hash; a comparison alone would take trailing blanks for nothing.
SELECT {columns}
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND lane_hash = CRC32(?) AND number >= ? AND number <= ? AND next_attempt_at IS NULL
  AND CAST(destination AS BINARY) = CAST(? AS BINARY) AND CAST(lane AS BINARY) = CAST(? AS BINARY)
ORDER BY number
LIMIT ?
