INSERT INTO redeliver_audit (at, who, action, message_number, message_salt, why, detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
