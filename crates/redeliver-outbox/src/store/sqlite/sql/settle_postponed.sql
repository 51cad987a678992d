UPDATE redeliver_outbox SET next_attempt_at = ?3 WHERE number = ?1 AND shard = ?2 AND redrives = ?4
