DELETE FROM redeliver_events WHERE number = ?1
