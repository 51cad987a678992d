INSERT OR REPLACE INTO redeliver_fan_out (event_number, event_salt, destination, number) VALUES (?1, ?2, ?3, ?4)
