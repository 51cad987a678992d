-- Not INSERT IGNORE: it would share the lock on a row that is there, or was until just now, and two that share it cannot both go on. What
-- LAST_INSERT_ID was given says that there was one: the number of rows does not.
INSERT INTO redeliver_destinations (destination, kind, cause, detail, who, since)
VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE since = IF(LAST_INSERT_ID(1) = 1, redeliver_destinations.since, NULL)
