-- What was put off only because the lane stood still is due now; what waits for its own time waits on.
UPDATE redeliver_outbox
SET next_attempt_at = ?4
WHERE next_attempt_at > ?4 AND next_attempt_at <= ?4 + ?5 AND +shard = ?1 AND destination = ?2 AND lane = ?3
    AND COALESCE(last_attempt_at + last_wait_ms, 0) <= ?4 AND COALESCE(not_before, 0) <= ?4
