DELETE FROM redeliver_workers
WHERE lease_until < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
  AND worker NOT IN (SELECT owner FROM redeliver_shards WHERE owner IS NOT NULL)
ORDER BY worker LIMIT ?
