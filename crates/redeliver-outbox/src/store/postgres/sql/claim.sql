-- An owner whose lease has ended is locked, so that it cannot come back meanwhile: its beat waits, and then sees what was taken. One that
-- is coming back just now holds its own row, and keeps its shards.
WITH own AS MATERIALIZED (
    SELECT clock_timestamp() - max(w.lease_until - w.seen_at) AS a_lease_ago FROM redeliver_workers w WHERE w.worker = $1
),
gone AS MATERIALIZED (
    SELECT w.worker
      FROM redeliver_workers w
     WHERE w.lease_until <= clock_timestamp() AND w.worker <> $1
     ORDER BY w.worker
       FOR SHARE SKIP LOCKED
),
-- A shard that a settle of its last owner holds FOR SHARE is passed over, and taken at the next claim.
free AS MATERIALIZED (
    SELECT s.shard, s.clean, s.held
      FROM redeliver_shards s
     WHERE s.owner IS DISTINCT FROM $1
       AND (s.owner IS NULL
            OR s.owner IN (SELECT worker FROM gone)
            -- One that is unknown may have begun after this statement did: its first beat is not to be seen here, and what it took is.
            OR (NOT EXISTS (SELECT FROM redeliver_workers w WHERE w.worker = s.owner)
                AND (s.taken_at IS NULL OR s.taken_at < (SELECT a_lease_ago FROM own))))
     ORDER BY s.shard
     LIMIT $2
       FOR UPDATE OF s SKIP LOCKED
)
UPDATE redeliver_shards s
   SET owner = $1, epoch = s.epoch + 1, clean = false, held = $3, taken_at = clock_timestamp()
  FROM free
 WHERE s.shard = free.shard
RETURNING s.shard, s.epoch, free.clean, free.held
