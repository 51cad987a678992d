SELECT number, hash, at < now() - $1 * interval '1 millisecond' FROM redeliver_audit ORDER BY number LIMIT $2
