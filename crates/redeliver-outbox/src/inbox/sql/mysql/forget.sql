DELETE FROM redeliver_inbox
WHERE consumer = ? AND received_at < UTC_TIMESTAMP(3) - INTERVAL ? * 1000 MICROSECOND
ORDER BY received_at
LIMIT ?
