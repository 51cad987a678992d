SELECT destination, lane, MIN(number)
FROM redeliver_outbox
WHERE next_attempt_at > ?1 AND lane IS NOT NULL
GROUP BY destination, lane
