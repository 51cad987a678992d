DELETE FROM redeliver_audit a
 USING (SELECT number FROM (SELECT number, at FROM redeliver_audit ORDER BY number LIMIT $2) AS first
         WHERE at < now() - $1 * interval '1 millisecond') AS old
 WHERE a.number = old.number
