DELETE FROM redeliver_lanes WHERE shard = ?1 AND head = ?2
