INSERT IGNORE INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/(?, 0, ?)/*each*/
