o.number, o.salt, o.shard,
       CASE WHEN o.large THEN left(o.destination, 201) ELSE o.destination END,
       CASE WHEN o.large THEN left(o.topic, 201) ELSE o.topic END,
       CASE WHEN o.large THEN left(o.lane, 1001) ELSE o.lane END,
       CASE WHEN o.large THEN NULL ELSE o.payload END,
       CASE WHEN o.large THEN NULL ELSE o.payload_binary END,
       CASE WHEN o.large THEN NULL ELSE o.content_type END,
       CASE WHEN o.large THEN NULL ELSE o.headers END,
       CASE WHEN o.large THEN NULL ELSE o.traceparent END,
       o.not_before, o.expires_at, o.created_at, o.attempts, o.redrives, o.next_attempt_at, o.last_attempt_at,
       CASE WHEN o.large THEN NULL ELSE o.last_error END,
       o.last_wait_ms,
       CASE WHEN o.attempts > 0 THEN COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                                                WHERE a.number = o.number AND a.salt = o.salt AND a.redrive = o.redrives AND a.attempt = o.attempts), FALSE)
            ELSE FALSE END AS interrupted,
       CASE WHEN o.large THEN octet_length(o.destination)::bigint + COALESCE(octet_length(o.payload), octet_length(o.payload_binary), 0)
           + COALESCE(octet_length(o.topic), 0) + COALESCE(octet_length(o.lane), 0) + COALESCE(octet_length(o.content_type), 0)
           + COALESCE(octet_length(o.headers), 0) + COALESCE(octet_length(o.traceparent), 0) + COALESCE(octet_length(o.last_error), 0)
       END
