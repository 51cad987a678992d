SELECT
    UTC_TIMESTAMP(3),
    COUNT(*),
    CAST(COALESCE(SUM(NOT EXISTS (
        SELECT 1 FROM redeliver_workers w WHERE w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3))), 0) AS UNSIGNED)
FROM redeliver_shards s
