UPDATE redeliver_outbox
SET attempts = ?3, next_attempt_at = ?4, last_attempt_at = ?5, last_error = ?6, last_wait_ms = ?7
WHERE number = ?1 AND salt & 4611686018427387903 = ?9 AND shard = ?2 AND MIN(redrives, 2147483647) = ?8 AND MIN(attempts, 2147483647) IN (?3 - 1, ?3)
