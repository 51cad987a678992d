-- Of a number that was given twice, the newest dead letter stays.
DELETE d
FROM redeliver_dead d
JOIN redeliver_dead newer ON newer.number = d.number
    AND (newer.dead_lettered_at, newer.salt) > (d.dead_lettered_at, d.salt);
ALTER TABLE redeliver_dead DROP PRIMARY KEY, ADD PRIMARY KEY (number);
