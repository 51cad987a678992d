SELECT took_ms FROM redeliver_sent WHERE number = ?1
