-- MariaDB 11.6 and newer: a row that was committed after this transaction's snapshot would be error 1020.
/*M!110602 SET STATEMENT innodb_snapshot_isolation = 0 FOR */
INSERT IGNORE INTO redeliver_deduplication (deduplication_key, number, salt)
VALUES /*each*/(?, 0, ?)/*each*/
