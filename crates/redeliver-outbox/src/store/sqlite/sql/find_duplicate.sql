SELECT number, salt FROM redeliver_deduplication WHERE deduplication_key = ?1
