SELECT number
FROM redeliver_outbox
WHERE number < 1
ORDER BY number
LIMIT ?
FOR UPDATE
