SELECT {columns}
FROM redeliver_outbox
WHERE number IN ({numbers})
ORDER BY number
