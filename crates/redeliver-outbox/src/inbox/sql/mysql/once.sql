INSERT IGNORE INTO redeliver_inbox (consumer, message_id)
VALUES (?, ?)
