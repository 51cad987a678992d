DELETE FROM redeliver_destinations WHERE destination = ?
