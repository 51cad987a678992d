DELETE FROM redeliver_inbox
WHERE (consumer, message_id) IN (
    SELECT consumer, message_id
    FROM redeliver_inbox
    WHERE consumer = ? AND received_at < CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?
    ORDER BY received_at
    LIMIT ?)
