SELECT number, at, who, action, message_number, message_salt, why, detail, hash
FROM redeliver_audit
WHERE number < ?1
ORDER BY number DESC
LIMIT ?2
