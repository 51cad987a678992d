DELETE FROM redeliver_sent WHERE number = ?1
