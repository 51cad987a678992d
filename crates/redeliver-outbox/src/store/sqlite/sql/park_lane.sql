-- A lane that an operator has parked stays so, whatever dies in it.
INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at, resumed_at)
SELECT shard, destination, lane, number, ?2, NULL FROM redeliver_outbox WHERE number = ?1 AND lane IS NOT NULL
ON CONFLICT (shard, destination, lane) DO UPDATE
SET dead_head = CASE WHEN head = 0 AND resumed_at IS NULL THEN excluded.head END,
    head = CASE WHEN head = 0 AND resumed_at IS NULL THEN 0 ELSE excluded.head END,
    parked_at = CASE WHEN head = 0 AND resumed_at IS NULL THEN parked_at ELSE excluded.parked_at END,
    resumed_at = NULL
