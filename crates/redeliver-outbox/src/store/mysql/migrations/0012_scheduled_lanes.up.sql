-- Every statement may run again, as in the first step; a column that is there already is no error here.
-- Finds the first scheduled message of a lane. Rows that were never scheduled have no value: they lie beside each other in the index,
-- in the order of their numbers.
ALTER TABLE redeliver_outbox
    ADD COLUMN scheduled_lane INT UNSIGNED GENERATED ALWAYS AS (IF(next_attempt_at IS NULL, NULL, CRC32(lane))) STORED,
    ADD KEY local_redeliver_outbox_scheduled (scheduled_lane, number);
