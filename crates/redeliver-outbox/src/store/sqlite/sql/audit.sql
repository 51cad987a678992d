SELECT number, at, who, action, message_number, message_salt, why, detail, hash
FROM redeliver_audit
ORDER BY number DESC
LIMIT ?1
