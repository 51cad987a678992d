SELECT message.id, message.destination, message.status, message.created_at, message.sent_at, made.event_number
FROM redeliver_messages AS message
LEFT JOIN redeliver_fan_out AS made ON made.number = message.number
