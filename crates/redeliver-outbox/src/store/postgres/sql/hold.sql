-- One that is there is locked and left as it is: were it not locked, it could be resumed before it is told of.
INSERT INTO redeliver_destinations (destination, kind, cause, detail, who, since)
VALUES ($1, $2, $3, $4, $5, clock_timestamp())
ON CONFLICT (destination) DO UPDATE SET destination = EXCLUDED.destination WHERE FALSE
