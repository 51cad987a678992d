ALTER TABLE redeliver_dead DROP CONSTRAINT local_redeliver_dead_pkey, ADD PRIMARY KEY (number);
