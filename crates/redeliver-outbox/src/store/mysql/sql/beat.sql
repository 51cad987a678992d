INSERT INTO redeliver_workers (worker, started_at, seen_at, lease_until, in_flight, figures)
VALUES (?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND), ?, ?)
ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at), lease_until = VALUES(lease_until), in_flight = VALUES(in_flight), figures = VALUES(figures)
