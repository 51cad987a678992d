DELETE FROM redeliver_audit
WHERE number IN (SELECT number FROM redeliver_audit WHERE at < ?1 ORDER BY number LIMIT ?2)
