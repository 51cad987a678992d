-- Once an operator has put the event back, its age counts against no message of it either: the redrives come along.
INSERT INTO redeliver_outbox (
    salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, expires_at, created_at, redrives)
SELECT
    ?3, ?2, topic, lane, payload, payload_binary, content_type, headers, traceparent, expires_at, created_at,
    redrives
FROM redeliver_outbox
WHERE number = ?1
