INSERT INTO redeliver_fan_out (event_number, event_salt, destination, number)
SELECT j.event, j.salt, j.destination, j.number
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    event BIGINT PATH '$[0]', salt BIGINT PATH '$[1]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[2]', number BIGINT PATH '$[3]'
)) AS j
