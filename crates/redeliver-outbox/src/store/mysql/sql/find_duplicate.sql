SELECT number, salt FROM redeliver_deduplication WHERE deduplication_key = ? LOCK IN SHARE MODE
