-- A lane that an operator parks has the head 0: nothing of it goes out. Who parked it and why; and the message that died last, for which it
-- stood still before, or would stand still otherwise.
ALTER TABLE redeliver_lanes
    ADD COLUMN dead_head bigint,
    ADD COLUMN who       text NOT NULL DEFAULT '',
    ADD COLUMN why       text NOT NULL DEFAULT '';
