-- The history has no index by time, because every delivery would pay for it. Messages arrive nearly in the order of their numbers:
-- the old ones are among the first, but for what was put back or put off, and is passed window by window.
SELECT number
FROM (SELECT number, sent_at FROM redeliver_sent WHERE number > ?3 ORDER BY number LIMIT ?4)
WHERE sent_at < ?1
LIMIT ?2
