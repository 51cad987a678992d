-- What an operator parked goes on, unless it stands still for a dead letter as well. Nothing here names a column that is gone when this runs
-- again.
UPDATE redeliver_lanes l
JOIN redeliver_dead d ON d.shard = l.shard AND d.discarded_at IS NULL AND NOT d.gap
    AND l.digest = UNHEX(SHA2(CONCAT(d.destination, CHAR(0), d.lane), 256))
SET l.head = d.number
WHERE l.head = 0 AND l.resumed_at IS NULL;
DELETE FROM redeliver_lanes WHERE head = 0;
ALTER TABLE redeliver_lanes
    DROP COLUMN why,
    DROP COLUMN who,
    DROP COLUMN dead_head;
