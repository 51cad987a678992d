INSERT INTO redeliver_inbox (consumer, message_id)
VALUES (?, ?)
ON CONFLICT (consumer, message_id) DO NOTHING
