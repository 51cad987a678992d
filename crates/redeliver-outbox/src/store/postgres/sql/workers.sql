SELECT w.worker, w.started_at, w.seen_at, w.lease_until > now(), w.in_flight,
       (SELECT count(*) FROM redeliver_shards s WHERE s.owner = w.worker), w.figures
  FROM redeliver_workers w
 ORDER BY w.started_at, w.worker
