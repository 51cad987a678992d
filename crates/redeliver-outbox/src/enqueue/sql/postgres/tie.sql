INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/($1::text, $2::bigint, $3::bigint)/*each*/
ON CONFLICT (deduplication_key) DO UPDATE SET number = excluded.number
