INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (?, 0, ?)
