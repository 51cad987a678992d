-- Every statement may run again, as in the first step; a column that is there already is no error here.
-- A lane that an operator parks has the head 0: nothing of it goes out. Who parked it and why; and the message that died last, for which it
-- stood still before, or would stand still otherwise.
ALTER TABLE redeliver_lanes
    ADD COLUMN dead_head BIGINT,
    ADD COLUMN who TEXT NOT NULL DEFAULT (''),
    ADD COLUMN why TEXT NOT NULL DEFAULT ('');
