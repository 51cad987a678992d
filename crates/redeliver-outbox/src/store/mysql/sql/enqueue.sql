INSERT INTO redeliver_outbox (salt, destination, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?,
    COALESCE(?, DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)),
    COALESCE(?, DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)))
