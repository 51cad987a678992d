-- What is not deferred and has not asked for this time was put away by a relay of an earlier version.
UPDATE redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
SET next_attempt_at = UTC_TIMESTAMP(3), deferred = 0
WHERE shard IN ({shards}) AND next_attempt_at = ?
  AND CASE WHEN deferred THEN (destination IN ({known})) IS NOT TRUE ELSE NOT (not_before <=> next_attempt_at) END
LIMIT ?
