-- An insert returns no rows here. One statement of n rows is given n numbers in a step of their own, the first of which is kept.
SELECT number, salt
FROM redeliver_outbox
WHERE number BETWEEN LAST_INSERT_ID() AND LAST_INSERT_ID() + (? - 1) * @@auto_increment_increment
