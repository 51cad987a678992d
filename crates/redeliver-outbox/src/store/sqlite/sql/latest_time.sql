SELECT MAX(
    COALESCE((SELECT MAX(seen_at) FROM redeliver_workers), 0),
    COALESCE((SELECT created_at FROM redeliver_outbox ORDER BY number DESC LIMIT 1), 0),
    COALESCE((SELECT sent_at FROM redeliver_sent ORDER BY number DESC LIMIT 1), 0))
