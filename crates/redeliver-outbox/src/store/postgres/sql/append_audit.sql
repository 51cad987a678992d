INSERT INTO redeliver_audit (at, who, action, message_number, message_salt, why, detail)
VALUES (clock_timestamp(), $1, $2, $3, $4, $5, $6)
