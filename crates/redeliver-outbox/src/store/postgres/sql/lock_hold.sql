SELECT 1 FROM redeliver_destinations WHERE destination = $1 FOR UPDATE
