SELECT substr(destination, 1, 1000) FROM redeliver_outbox WHERE number = ?1
