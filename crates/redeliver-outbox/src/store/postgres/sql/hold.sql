INSERT INTO redeliver_destinations (destination, kind, cause, detail, who, since)
VALUES ($1, $2, $3, $4, $5, clock_timestamp())
ON CONFLICT (destination) DO NOTHING
