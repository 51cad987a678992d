SELECT w.worker, w.started_at, w.seen_at, w.lease_until > UTC_TIMESTAMP(3),
    (SELECT COUNT(*) FROM redeliver_shards s WHERE s.owner = w.worker), w.in_flight
FROM redeliver_workers w
ORDER BY w.worker
