SELECT event.number, event.salt, event.topic,
    event.payload IS NOT NULL OR event.payload_binary IS NOT NULL,
    EXISTS (SELECT 1 FROM redeliver_fan_out AS made WHERE made.event_number = event.number AND made.destination = ?1)
FROM redeliver_events AS event
WHERE event.number > ?2 AND event.created_at >= ?3 AND (?4 IS NULL OR event.created_at < ?4)
ORDER BY event.number
LIMIT ?5
