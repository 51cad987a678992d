DELETE FROM redeliver_outbox WHERE number <= ?
