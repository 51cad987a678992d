SELECT UTC_TIMESTAMP(3), COUNT(*), COUNT(*) - COUNT(w.worker),
    (SELECT COUNT(*) FROM redeliver_workers WHERE lease_until > UTC_TIMESTAMP(3))
FROM redeliver_shards s
LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3)
