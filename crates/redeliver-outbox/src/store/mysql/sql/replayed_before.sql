-- A locking read, because a plain one would not see what was committed after this transaction's snapshot.
SELECT m.event_number
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_fan_out m FORCE INDEX (PRIMARY) ON m.event_number = j.number AND m.destination = CAST(? AS BINARY)
/*M!100600 LOCK IN SHARE MODE */ /*!80001 FOR SHARE OF m */
