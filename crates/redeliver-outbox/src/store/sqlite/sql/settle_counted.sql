UPDATE redeliver_outbox
SET attempts = ?3, last_attempt_at = ?4
WHERE number = ?1 AND shard = ?2 AND redrives = ?5 AND attempts IN (?3 - 1, ?3)
