UPDATE redeliver_outbox
SET attempts = ?3, last_attempt_at = ?4
WHERE number = ?1 AND salt & 4611686018427387903 = ?6 AND shard = ?2 AND MIN(redrives, 2147483647) = ?5 AND MIN(attempts, 2147483647) IN (?3 - 1, ?3)
