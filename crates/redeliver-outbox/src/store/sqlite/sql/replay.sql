-- Its age counts from now: it is sent today because an operator wants it to.
INSERT INTO redeliver_outbox (
    salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, created_at)
SELECT ?3, ?2, topic, lane, payload, payload_binary, content_type, headers, traceparent, ?4
FROM redeliver_events
WHERE number = ?1
