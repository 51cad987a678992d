SELECT number, salt, deduplication_key
FROM redeliver_deduplication
WHERE deduplication_key IN (/*each*/?/*each*/)
