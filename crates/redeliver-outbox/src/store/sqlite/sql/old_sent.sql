-- The history has no index by time, because every delivery would pay for it. Messages arrive nearly in the order of their numbers:
-- the old ones are among the first.
SELECT number
FROM (SELECT number, sent_at FROM redeliver_sent ORDER BY number LIMIT ?2 * 10)
WHERE sent_at < ?1
LIMIT ?2
