INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/(?, ?, ?)/*each*/
ON CONFLICT (deduplication_key) DO UPDATE SET number = excluded.number
