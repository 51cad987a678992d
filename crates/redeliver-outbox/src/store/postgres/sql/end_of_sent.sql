-- Where the window ends that is looked at, if there may be old ones behind it: what was inserted too late to be old is not followed by any.
SELECT number
  FROM (SELECT number, created_at FROM redeliver_sent WHERE number > $2 ORDER BY number LIMIT 1 OFFSET $3 - 1) AS last
 WHERE created_at < now() - $1 * interval '1 millisecond'
