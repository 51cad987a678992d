DELETE FROM redeliver_attempts WHERE number = ?1
