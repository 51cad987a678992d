SELECT destination FROM redeliver_outbox WHERE number = ?1
