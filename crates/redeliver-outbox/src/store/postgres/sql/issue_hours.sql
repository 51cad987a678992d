SELECT floor(extract(epoch FROM now() - dead_lettered_at) / 3600)::bigint AS ago, count(*)
  FROM redeliver_dead
 WHERE discarded_at IS NULL AND fingerprint = $1 AND dead_lettered_at > now() - interval '24 hours'
 GROUP BY ago
