SELECT destination, lane, number, next_attempt_at, not_before, created_at, attempts FROM redeliver_outbox
