SELECT event_number, event_salt FROM redeliver_fan_out WHERE number = ?
