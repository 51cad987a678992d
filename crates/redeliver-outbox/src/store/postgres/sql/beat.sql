WITH beat AS (
    INSERT INTO redeliver_workers (worker, started_at, seen_at, lease_until, in_flight)
    VALUES ($1, clock_timestamp(), clock_timestamp(), clock_timestamp() + $2 * interval '1 millisecond', $3)
    ON CONFLICT (worker) DO UPDATE
        SET seen_at = excluded.seen_at, lease_until = excluded.lease_until, in_flight = excluded.in_flight
),
-- The statement's snapshot does not show its own insert: this worker is left out here and counted by the caller.
others AS MATERIALIZED (
    SELECT worker, lease_until FROM redeliver_workers WHERE worker <> $1 AND lease_until > clock_timestamp()
),
owned AS (
    SELECT shard, epoch FROM redeliver_shards WHERE owner = $1
)
SELECT clock_timestamp(),
       (SELECT count(*) FROM others),
       (SELECT count(*) FROM redeliver_shards),
       (SELECT array_agg(shard ORDER BY shard) FROM owned),
       (SELECT array_agg(epoch ORDER BY shard) FROM owned),
       (SELECT count(*) FROM redeliver_shards s
         WHERE s.owner IS NULL OR (s.owner <> $1 AND s.owner NOT IN (SELECT worker FROM others))),
       (SELECT min(lease_until) FROM others)
