-- What was put off only because the lane stood still is due now; what waits for its own time waits on.
UPDATE redeliver_outbox
   SET next_attempt_at = now()
 WHERE shard = $1 AND next_attempt_at > now() AND next_attempt_at <= now() + $4 * interval '1 millisecond'
   AND destination = $2 AND lane = $3
   AND (last_attempt_at IS NULL OR last_attempt_at + LEAST(last_wait_ms, 3153600000000) * interval '1 millisecond' <= now())
   AND (not_before IS NULL OR not_before <= now())
