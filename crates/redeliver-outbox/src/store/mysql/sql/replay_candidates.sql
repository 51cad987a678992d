SELECT event.number, event.salt, event.topic,
    event.payload IS NOT NULL OR event.payload_binary IS NOT NULL,
    EXISTS (
        SELECT 1 FROM redeliver_fan_out AS made WHERE made.event_number = event.number AND made.destination = CAST(? AS BINARY)
    )
FROM redeliver_events AS event
WHERE event.number > ? AND event.created_at >= ? AND event.created_at < ?
ORDER BY event.number
LIMIT ?
