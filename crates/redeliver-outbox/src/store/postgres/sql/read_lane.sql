SELECT o.number, o.salt, o.shard, o.destination, o.topic, o.lane, o.payload, o.payload_binary, o.content_type, o.headers, o.traceparent,
       o.not_before, o.expires_at, o.created_at, o.attempts, o.redrives, o.next_attempt_at, o.last_attempt_at, o.last_error,
       o.last_wait_ms,
       CASE WHEN o.attempts > 0 THEN COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                                                WHERE a.number = o.number AND a.redrive = o.redrives AND a.attempt = o.attempts), FALSE)
            ELSE FALSE END AS interrupted
  FROM redeliver_outbox o
 WHERE o.shard = $1 AND o.number >= $2 AND o.number <= $3 AND o.next_attempt_at IS NULL AND o.destination = $4 AND o.lane IS NOT DISTINCT FROM $5
 ORDER BY o.shard, o.number
 LIMIT $6
