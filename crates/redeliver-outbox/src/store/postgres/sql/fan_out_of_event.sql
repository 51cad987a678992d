SELECT destination, number FROM redeliver_fan_out WHERE event_number = $1 ORDER BY destination
