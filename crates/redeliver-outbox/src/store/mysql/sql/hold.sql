INSERT IGNORE INTO redeliver_destinations (destination, kind, cause, detail, who, since)
VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(3))
