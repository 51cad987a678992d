SELECT w.worker, w.started_at, w.seen_at, w.lease_until > UTC_TIMESTAMP(3), w.in_flight,
    (SELECT COUNT(*) FROM redeliver_shards s WHERE s.owner = w.worker), w.figures
FROM redeliver_workers w
ORDER BY w.started_at, w.worker
