number, salt, shard, destination, topic, lane,
    CASE WHEN OCTET_LENGTH(payload) > {most} THEN NULL ELSE payload END,
    CASE WHEN OCTET_LENGTH(payload_binary) > {most} THEN NULL ELSE payload_binary END,
    content_type,
    CASE WHEN OCTET_LENGTH(headers) > {most} DIV 8 THEN NULL ELSE headers END,
    traceparent, not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at,
    CASE WHEN OCTET_LENGTH(last_error) > {most} DIV 8 THEN NULL ELSE last_error END,
    last_wait_ms,
    IF(attempts > 0, COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                               WHERE a.number = redeliver_outbox.number AND a.salt = redeliver_outbox.salt
                                 AND a.redrive = redrives AND a.attempt = attempts), 0), 0) AS interrupted,
    CASE WHEN OCTET_LENGTH(payload) > {most} OR OCTET_LENGTH(payload_binary) > {most}
            OR OCTET_LENGTH(headers) > {most} DIV 8 OR OCTET_LENGTH(last_error) > {most} DIV 8
        THEN COALESCE(OCTET_LENGTH(payload), OCTET_LENGTH(payload_binary), 0) + COALESCE(OCTET_LENGTH(headers), 0)
            + COALESCE(OCTET_LENGTH(last_error), 0)
    END,
    lane_hash
