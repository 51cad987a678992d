-- One replay at a time: the next one waits here, and then sees what this one made.
SELECT m.number
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_events m FORCE INDEX (PRIMARY) ON m.number = j.number
FOR UPDATE /*!80001 OF m */
