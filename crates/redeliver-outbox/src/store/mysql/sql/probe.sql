-- The variable is the connection's, and names the server: a new connection has none. No CHECK may name a column that counts by itself,
-- so numbers that no id has room for, which somebody must have written, are passed over here. Those below 1 get another number;
-- `redeliver doctor` tells of those that are too large.
SELECT
    UTC_TIMESTAMP(3),
    @redeliver_server,
    ?,
    EXISTS (SELECT 1 FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at IS NULL AND number > ? AND number <= 1152921504606846975),
    EXISTS (SELECT 1 FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at <= UTC_TIMESTAMP(3) AND number BETWEEN 1 AND 1152921504606846975),
    (SELECT MIN(next_attempt_at) FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at > UTC_TIMESTAMP(3))
