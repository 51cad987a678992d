SELECT 1 FROM redeliver_destinations WHERE destination = ? FOR UPDATE
