INSERT INTO redeliver_audit (number, at, who, action, message_number, message_salt, why, detail, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
