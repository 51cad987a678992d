INSERT INTO redeliver_fan_out (event_number, event_salt, destination, number)
SELECT number, salt, ?2, ?3 FROM redeliver_events WHERE number = ?1
