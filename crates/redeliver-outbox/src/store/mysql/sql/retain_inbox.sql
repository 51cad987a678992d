-- An entry is kept for as long as its message can be sent again: while it is live here, or a dead letter that nobody discarded. The
-- number is in the id: its first 15 digits but for the version, the 13th. Ids of other senders have none, and MySQL refuses to convert
-- what has no digits.
DELETE FROM redeliver_inbox
WHERE received_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    AND NOT EXISTS (
        SELECT 1 FROM redeliver_outbox o
        WHERE o.number = CASE WHEN redeliver_inbox.message_id REGEXP '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-8[0-9A-Fa-f]{3}-'
            THEN CAST(CONV(CONCAT(SUBSTR(redeliver_inbox.message_id, 1, 8), SUBSTR(redeliver_inbox.message_id, 10, 4), SUBSTR(redeliver_inbox.message_id, 16, 3)), 16, 10) AS SIGNED)
            END)
    AND NOT EXISTS (
        SELECT 1 FROM redeliver_dead l
        WHERE l.number = CASE WHEN redeliver_inbox.message_id REGEXP '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-8[0-9A-Fa-f]{3}-'
            THEN CAST(CONV(CONCAT(SUBSTR(redeliver_inbox.message_id, 1, 8), SUBSTR(redeliver_inbox.message_id, 10, 4), SUBSTR(redeliver_inbox.message_id, 16, 3)), 16, 10) AS SIGNED)
            END
            AND l.discarded_at IS NULL)
ORDER BY received_at LIMIT ?
