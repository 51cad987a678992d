SELECT number FROM redeliver_dead WHERE discarded_at < ?1 ORDER BY discarded_at LIMIT ?2
