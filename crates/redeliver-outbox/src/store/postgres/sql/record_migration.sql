INSERT INTO redeliver_migrations (version, name) VALUES ($1, $2)
