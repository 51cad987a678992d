INSERT INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/(?, ?, ?)/*each*/
ON DUPLICATE KEY UPDATE number = VALUES(number)
