UPDATE redeliver_outbox SET next_attempt_at = ?3, deferred = ?6 WHERE number = ?1 AND salt & 4611686018427387903 = ?5 AND shard = ?2 AND MIN(redrives, 2147483647) = ?4
