number, salt, shard,
    CASE WHEN octet_length(destination) > {most} / 8 THEN substr(destination, 1, 201) ELSE destination END,
    CASE WHEN octet_length(topic) > {most} / 8 THEN substr(topic, 1, 201) ELSE topic END,
    CASE WHEN octet_length(lane) > {most} / 8 THEN substr(lane, 1, 1001) ELSE lane END,
    CASE WHEN octet_length(payload) > {most} THEN NULL ELSE payload END,
    CASE WHEN octet_length(payload_binary) > {most} THEN NULL ELSE payload_binary END,
    CASE WHEN octet_length(content_type) > {most} / 8 THEN NULL ELSE content_type END,
    CASE WHEN octet_length(headers) > {most} / 8 THEN NULL ELSE headers END,
    CASE WHEN octet_length(traceparent) > {most} / 8 THEN NULL ELSE traceparent END,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at,
    CASE WHEN octet_length(last_error) > {most} / 8 THEN NULL ELSE last_error END,
    last_wait_ms,
    CASE WHEN attempts > 0 THEN COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                                          WHERE a.number = redeliver_outbox.number AND a.salt = redeliver_outbox.salt
                                            AND a.redrive = redrives AND a.attempt = attempts), 0)
         ELSE 0 END,
    CASE
        WHEN octet_length(payload) > {most} OR octet_length(payload_binary) > {most} OR octet_length(destination) > {most} / 8
            OR octet_length(topic) > {most} / 8 OR octet_length(lane) > {most} / 8 OR octet_length(content_type) > {most} / 8
            OR octet_length(headers) > {most} / 8 OR octet_length(traceparent) > {most} / 8 OR octet_length(last_error) > {most} / 8
        THEN octet_length(destination) + COALESCE(octet_length(payload), octet_length(payload_binary), 0)
            + COALESCE(octet_length(topic), 0) + COALESCE(octet_length(lane), 0) + COALESCE(octet_length(content_type), 0)
            + COALESCE(octet_length(headers), 0) + COALESCE(octet_length(traceparent), 0) + COALESCE(octet_length(last_error), 0)
    END
