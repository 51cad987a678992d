-- An entry is kept for as long as its message can be sent again: while it is live here, or a dead letter that nobody discarded. The
-- number is in the id: its first 15 digits but for the version, the 13th.
DELETE FROM redeliver_inbox
WHERE (consumer, message_id) IN (
    SELECT i.consumer, i.message_id
    FROM (SELECT consumer, message_id, received_at,
                 '0x' || substr(message_id, 1, 8) || substr(message_id, 10, 4) || substr(message_id, 16, 3) AS digits
          FROM redeliver_inbox) AS i
    WHERE i.received_at < ?1
        AND NOT EXISTS (
            SELECT 1 FROM redeliver_outbox o
            WHERE o.number = CASE WHEN json_valid(i.digits, 2) THEN json_extract(i.digits, '$') END)
        AND NOT EXISTS (
            SELECT 1 FROM redeliver_dead l
            WHERE l.number = CASE WHEN json_valid(i.digits, 2) THEN json_extract(i.digits, '$') END
                AND l.discarded_at IS NULL)
    ORDER BY i.received_at
    LIMIT ?2)
