SELECT message_number, message_salt, MAX(number)
FROM redeliver_audit
WHERE message_number IN (SELECT value FROM json_each(?1))
GROUP BY message_number, message_salt
