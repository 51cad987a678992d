SELECT CONVERT(destination USING utf8mb4), number FROM redeliver_fan_out WHERE event_number = ? ORDER BY destination
