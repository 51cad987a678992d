INSERT INTO redeliver_deduplication (deduplication_key, number, salt, created_at) VALUES (?1, ?2, ?3, ?4)
