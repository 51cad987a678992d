INSERT INTO redeliver_outbox
    (salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?,
    COALESCE(CAST('1970-01-01' AS DATETIME(3)) + INTERVAL ? * 1000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL ? * 1000 MICROSECOND),
    COALESCE(CAST('1970-01-01' AS DATETIME(3)) + INTERVAL ? * 1000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL ? * 1000 MICROSECOND))/*each*/
