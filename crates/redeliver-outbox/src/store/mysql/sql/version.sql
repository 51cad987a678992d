SELECT MAX(version) FROM redeliver_migrations
