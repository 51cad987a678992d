INSERT INTO redeliver_migrations (version, name, applied_at) VALUES (?, ?, UTC_TIMESTAMP(3))
