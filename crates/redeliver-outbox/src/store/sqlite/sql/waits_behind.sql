-- CROSS JOIN: the one message first, or SQLite walks through all others to spare the sort.
SELECT before.number, before.salt
FROM redeliver_outbox AS message
CROSS JOIN redeliver_outbox AS before ON before.destination = message.destination AND before.lane = message.lane
WHERE message.number = ?1 AND before.number < ?1
ORDER BY before.number
LIMIT 1
