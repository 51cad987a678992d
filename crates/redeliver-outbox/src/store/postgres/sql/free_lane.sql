UPDATE redeliver_lanes SET resumed_at = clock_timestamp() WHERE head = ANY ($1::bigint[]) AND resumed_at IS NULL
