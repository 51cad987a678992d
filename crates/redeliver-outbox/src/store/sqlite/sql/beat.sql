INSERT INTO redeliver_workers (worker, started_at, seen_at, lease_until, in_flight, figures)
VALUES (?1, ?2, ?2, ?3, ?4, ?5)
ON CONFLICT (worker) DO UPDATE
SET seen_at = excluded.seen_at, lease_until = excluded.lease_until, in_flight = excluded.in_flight, figures = excluded.figures
