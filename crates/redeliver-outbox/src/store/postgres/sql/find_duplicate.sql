SELECT deduplication_key, number, salt FROM redeliver_deduplication WHERE deduplication_key = ANY ($1::text[])
