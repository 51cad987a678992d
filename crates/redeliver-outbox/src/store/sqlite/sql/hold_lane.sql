-- What died in the lane is kept in mind: when the lane goes on, it goes on without it.
INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at, resumed_at, who, why)
VALUES (?1, ?2, ?3, 0, ?4, NULL, ?5, ?6)
ON CONFLICT (shard, destination, lane) DO UPDATE
SET dead_head = COALESCE(NULLIF(head, 0), dead_head), head = 0, parked_at = excluded.parked_at, resumed_at = NULL,
    who = excluded.who, why = excluded.why
WHERE head <> 0 OR resumed_at IS NOT NULL
