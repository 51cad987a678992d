INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/(?, 0, ?)/*each*/
ON CONFLICT (deduplication_key) DO NOTHING
