INSERT INTO redeliver_outbox (
    salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
