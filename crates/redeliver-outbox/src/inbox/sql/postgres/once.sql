INSERT INTO redeliver_inbox (consumer, message_id)
VALUES ($1::text, $2::text)
ON CONFLICT (consumer, message_id) DO NOTHING
