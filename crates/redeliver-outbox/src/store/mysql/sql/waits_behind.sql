SELECT b.number, b.salt
FROM redeliver_outbox m
JOIN redeliver_outbox b ON b.shard = m.shard AND b.lane_hash = m.lane_hash AND b.number < m.number
    AND CAST(b.destination AS BINARY) = CAST(m.destination AS BINARY) AND CAST(b.lane AS BINARY) = CAST(m.lane AS BINARY)
WHERE m.number = ?
ORDER BY b.number
LIMIT 1
