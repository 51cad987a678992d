SELECT message_number, message_salt, max(number)
FROM redeliver_audit
WHERE message_number = ANY($1)
GROUP BY message_number, message_salt
