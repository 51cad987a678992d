SELECT attempts, COUNT(*) FROM redeliver_outbox GROUP BY attempts
