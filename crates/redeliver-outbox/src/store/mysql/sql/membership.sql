SELECT
    UTC_TIMESTAMP(3),
    (SELECT COUNT(*) FROM redeliver_workers WHERE lease_until > UTC_TIMESTAMP(3)),
    (SELECT COUNT(*) FROM redeliver_shards),
    (SELECT COUNT(*) FROM redeliver_shards s
        WHERE s.owner IS NULL
           OR NOT EXISTS (SELECT 1 FROM redeliver_workers w WHERE w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3))),
    (SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), MIN(lease_until)) DIV 1000 + 1 FROM redeliver_workers
        WHERE worker <> ? AND lease_until > UTC_TIMESTAMP(3))
