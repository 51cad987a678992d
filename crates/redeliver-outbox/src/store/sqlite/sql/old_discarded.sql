SELECT number FROM redeliver_dead WHERE discarded_at < ?1 ORDER BY number LIMIT ?2
