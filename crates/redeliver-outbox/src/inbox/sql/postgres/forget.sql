DELETE FROM redeliver_inbox
WHERE (consumer, message_id) IN (
    SELECT consumer, message_id
    FROM redeliver_inbox
    WHERE consumer = $1::text AND received_at < clock_timestamp() - $2::bigint * interval '1 millisecond'
    ORDER BY received_at
    LIMIT $3::bigint
    FOR UPDATE SKIP LOCKED)
