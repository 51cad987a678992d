SELECT number, hash, at < ?1 FROM redeliver_audit ORDER BY number LIMIT ?2
