SELECT number, salt, deduplication_key
FROM redeliver_deduplication
WHERE deduplication_key IN (/*each*/$1::text/*each*/)
