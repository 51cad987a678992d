DELETE FROM redeliver_inbox
WHERE (consumer, message_id) IN (
    SELECT consumer, message_id FROM redeliver_inbox WHERE received_at < ?1 ORDER BY received_at LIMIT ?2)
