SELECT attempts, count(*) FROM redeliver_outbox GROUP BY attempts
