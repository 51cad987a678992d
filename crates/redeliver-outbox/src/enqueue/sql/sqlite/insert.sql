INSERT INTO redeliver_outbox
    (salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?,
    COALESCE(?, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?),
    COALESCE(?, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?))/*each*/
RETURNING number, salt
