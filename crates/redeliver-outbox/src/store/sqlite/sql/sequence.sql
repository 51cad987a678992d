SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'redeliver_outbox'), 0)
