DELETE FROM redeliver_inbox
WHERE (consumer, message_id) IN (
    SELECT consumer, message_id
    FROM redeliver_inbox
    WHERE consumer = ? AND received_at < CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) - ?
    ORDER BY received_at
    LIMIT ?)
