SELECT EXISTS (SELECT 1 FROM redeliver_outbox WHERE number < 1)
