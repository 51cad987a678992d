-- What an operator parked goes on, unless it stands still for a dead letter as well.
UPDATE redeliver_lanes SET head = dead_head
WHERE head = 0 AND resumed_at IS NULL AND EXISTS (SELECT 1 FROM redeliver_dead WHERE number = dead_head AND discarded_at IS NULL);
DELETE FROM redeliver_lanes WHERE head = 0;
ALTER TABLE redeliver_lanes DROP COLUMN why;
ALTER TABLE redeliver_lanes DROP COLUMN who;
ALTER TABLE redeliver_lanes DROP COLUMN dead_head;
