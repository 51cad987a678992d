SELECT a.message_number, a.message_salt, MAX(a.number)
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_audit a ON a.message_number = j.number
GROUP BY a.message_number, a.message_salt
