INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/($1::text, 0, $2::bigint)/*each*/
ON CONFLICT (deduplication_key) DO NOTHING
