SELECT
    number, salt, shard, redrives,
    CASE WHEN octet_length(destination) > 200 THEN substr(destination, 1, 201) ELSE destination END,
    CASE WHEN octet_length(topic) > 200 THEN substr(topic, 1, 201) ELSE topic END,
    CASE WHEN octet_length(lane) > 1000 THEN substr(lane, 1, 1001) ELSE lane END
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_fresh
WHERE shard = ?1 AND number > ?2 AND number <= ?3 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?4
