INSERT INTO redeliver_outbox (
    number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error)
SELECT
    number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    -- Put back for nothing, if the time that it expired at came with it.
    not_before, CASE WHEN expires_at > ?2 THEN expires_at END, created_at,
    0, redrives + 1, ?2, last_attempt_at, last_error
FROM redeliver_dead
WHERE number = ?1 AND salt & 4611686018427387903 = ?3 AND discarded_at IS NULL
    -- Of a number that was given twice, one message is live at a time; the others stay dead letters.
    AND NOT EXISTS (SELECT 1 FROM redeliver_outbox AS live WHERE live.number = ?1)
