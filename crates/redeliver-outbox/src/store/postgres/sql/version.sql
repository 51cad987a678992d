SELECT COALESCE(max(version), 0) FROM redeliver_migrations
