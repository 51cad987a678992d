-- Every statement may run again, as in the first step.
-- A number may be given twice, after a restore or a reset of AUTO_INCREMENT: a dead letter is known by its whole id, and none stands in
-- another's way.
ALTER TABLE redeliver_dead DROP PRIMARY KEY, ADD PRIMARY KEY (number, salt);
