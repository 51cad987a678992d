SELECT shard
FROM redeliver_outbox
WHERE lane_hash = CRC32(?) AND CAST(destination AS BINARY) = CAST(? AS BINARY) AND CAST(lane AS BINARY) = CAST(? AS BINARY)
LIMIT 1
