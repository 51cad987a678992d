-- An owner whose lease has ended is locked, so that it cannot come back meanwhile: its beat waits, and then sees what was taken. One that
-- is coming back just now holds its own row, and keeps its shards. The two servers have no word in common for it.
SELECT worker
FROM redeliver_workers
WHERE lease_until <= UTC_TIMESTAMP(3) AND worker <> ?
ORDER BY worker
/*M!100600 LOCK IN SHARE MODE */ /*!80001 FOR SHARE */ SKIP LOCKED
