INSERT INTO redeliver_fan_out (event_number, event_salt, destination, number) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (event_number, destination) DO UPDATE SET event_salt = excluded.event_salt, number = excluded.number
