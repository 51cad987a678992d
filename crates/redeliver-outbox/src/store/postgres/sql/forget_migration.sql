DELETE FROM redeliver_migrations WHERE version = $1
