-- A locking read, because a plain one would not see what was committed after this transaction's snapshot.
-- MariaDB 11.6 and newer: a row that was committed after this transaction's snapshot would be error 1020.
/*M!110602 SET STATEMENT innodb_snapshot_isolation = 0 FOR */
SELECT number, salt, CONVERT(deduplication_key USING utf8mb4) AS deduplication_key
FROM redeliver_deduplication
WHERE deduplication_key IN (/*each*/?/*each*/)
LOCK IN SHARE MODE
