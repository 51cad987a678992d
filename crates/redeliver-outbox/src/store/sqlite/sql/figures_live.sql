SELECT destination, lane, number, next_attempt_at, not_before, created_at, attempts,
    deferred AND next_attempt_at = 253402214400000
FROM redeliver_outbox
