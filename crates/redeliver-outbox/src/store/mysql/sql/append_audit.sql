INSERT INTO redeliver_audit (at, who, action, message_number, message_salt, why, detail)
VALUES (UTC_TIMESTAMP(3), ?, ?, ?, ?, ?, ?)
