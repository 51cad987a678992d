-- The variable is the connection's: a new one has none.
SELECT
    UTC_TIMESTAMP(3),
    @server_is_known IS NULL,
    ?,
    EXISTS (SELECT 1 FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at IS NULL AND number > ?),
    EXISTS (SELECT 1 FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at <= UTC_TIMESTAMP(3)),
    (SELECT MIN(next_attempt_at) FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at > UTC_TIMESTAMP(3))
