-- A statement of its own after the beat: a claim that found the lease ended held it up, and what that claim took is seen only now.
WITH own AS MATERIALIZED (
    SELECT clock_timestamp() - max(lease_until - seen_at) AS a_lease_ago FROM redeliver_workers WHERE worker = $1
),
alive AS MATERIALIZED (
    SELECT worker, lease_until FROM redeliver_workers WHERE lease_until > clock_timestamp()
),
owned AS (
    SELECT shard, epoch FROM redeliver_shards WHERE owner = $1
)
SELECT clock_timestamp(),
       (SELECT count(*) FROM alive),
       (SELECT count(*) FROM redeliver_shards),
       (SELECT array_agg(shard ORDER BY shard) FROM owned),
       (SELECT array_agg(epoch ORDER BY shard) FROM owned),
       (SELECT count(*) FROM redeliver_shards s
         WHERE s.owner IS NULL
            OR (s.owner <> $1 AND s.owner NOT IN (SELECT worker FROM alive)
                AND (s.taken_at IS NULL OR s.taken_at < (SELECT a_lease_ago FROM own)
                     OR EXISTS (SELECT FROM redeliver_workers w WHERE w.worker = s.owner)))),
       (SELECT min(lease_until) FROM alive WHERE worker <> $1)
