-- A new owner is told only of lanes that stand still: these do not, and nobody else asks for them any more.
DELETE FROM redeliver_lanes WHERE shard = ANY ($1::smallint[]) AND resumed_at IS NOT NULL
