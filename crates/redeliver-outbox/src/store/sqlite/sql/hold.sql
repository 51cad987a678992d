INSERT INTO redeliver_destinations (destination, kind, cause, detail, who, since)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (destination) DO NOTHING
