UPDATE redeliver_lanes SET resumed_at = ?2 WHERE head = ?1 AND resumed_at IS NULL
