SELECT at, who, action, message_number, message_salt, why, detail FROM redeliver_audit ORDER BY number DESC LIMIT $1
