-- By number, as the history of what was sent: events fan out nearly in the order of their numbers.
SELECT number
FROM (SELECT number, fanned_out_at FROM redeliver_events WHERE number > ?3 ORDER BY number LIMIT ?4)
WHERE fanned_out_at < ?1
LIMIT ?2
