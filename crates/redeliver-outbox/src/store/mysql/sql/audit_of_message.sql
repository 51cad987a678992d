SELECT number, at, who, action, message_number, message_salt, why, detail, hash FROM redeliver_audit WHERE message_number = ? ORDER BY number
