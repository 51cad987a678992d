INSERT INTO redeliver_audit (number, at, who, action, message_number, message_salt, why, detail, hash)
VALUES {entries}
