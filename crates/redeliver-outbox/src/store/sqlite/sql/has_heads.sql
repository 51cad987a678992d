SELECT EXISTS (
    SELECT 1 FROM redeliver_outbox INDEXED BY local_redeliver_outbox_scheduled WHERE lane IS NOT NULL AND next_attempt_at IS NOT NULL)
