-- A number may be given twice, by a restored or reset sequence: a dead letter is known by its whole id, and none stands in another's way.
ALTER TABLE redeliver_dead DROP CONSTRAINT local_redeliver_dead_pkey, ADD PRIMARY KEY (number, salt);
