-- A locking read, because a plain one would not see what was committed after this transaction's snapshot.
SELECT number, salt, CONVERT(deduplication_key USING utf8mb4) AS deduplication_key
FROM redeliver_deduplication
WHERE deduplication_key IN (/*each*/?/*each*/)
LOCK IN SHARE MODE
