DELETE FROM redeliver_dead WHERE number = ?1
