INSERT INTO redeliver_dead (
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, last_attempt_at,
    last_error, reason, gap, dead_lettered_at, fingerprint)
SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, COALESCE(?3, attempts), redrives,
    CASE WHEN ?3 IS NULL THEN last_attempt_at ELSE ?4 END,
    ?5, ?6, ?7 AND lane IS NOT NULL, ?4, ?10
FROM redeliver_outbox
WHERE number = ?1 AND salt & 4611686018427387903 = ?9 AND shard = ?2 AND MIN(redrives, 2147483647) = ?8 AND (?3 IS NULL OR MIN(attempts, 2147483647) IN (?3 - 1, ?3))
-- The same message again, live after a restore: it dies once more.
ON CONFLICT (number, salt) DO UPDATE
SET attempts = excluded.attempts, redrives = excluded.redrives, last_attempt_at = excluded.last_attempt_at,
    last_error = excluded.last_error, reason = excluded.reason, gap = excluded.gap, dead_lettered_at = excluded.dead_lettered_at,
    discarded_at = NULL, fingerprint = excluded.fingerprint
