DELETE FROM redeliver_fan_out WHERE event_number = ?1
