INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at, resumed_at)
SELECT shard, destination, lane, number, ?2, NULL FROM redeliver_outbox WHERE number = ?1 AND lane IS NOT NULL
ON CONFLICT (shard, destination, lane) DO UPDATE
SET head = excluded.head, parked_at = excluded.parked_at, resumed_at = NULL
