SELECT {columns}
FROM redeliver_outbox
WHERE number IN ({numbers}) AND next_attempt_at IS NULL
ORDER BY number
