DELETE FROM redeliver_workers
WHERE worker = ? AND worker NOT IN (SELECT owner FROM redeliver_shards WHERE owner IS NOT NULL)
