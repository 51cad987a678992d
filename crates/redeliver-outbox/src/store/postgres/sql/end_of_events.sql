-- As with what was sent.
SELECT number
  FROM (SELECT number, created_at FROM redeliver_events WHERE number > $2 ORDER BY number LIMIT 1 OFFSET $3 - 1) AS last
 WHERE created_at < now() - $1 * interval '1 millisecond'
