SELECT COALESCE(MAX(version), 0) FROM redeliver_migrations
