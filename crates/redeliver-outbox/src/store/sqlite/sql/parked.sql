SELECT destination, lane, head FROM redeliver_lanes WHERE shard = ?1 AND resumed_at IS NULL ORDER BY head
