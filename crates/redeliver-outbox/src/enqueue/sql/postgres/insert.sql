INSERT INTO redeliver_outbox
    (salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
VALUES /*each*/($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7::text, $8::text, $9::text,
    COALESCE(timestamptz 'epoch' + $10::bigint * interval '1 millisecond', clock_timestamp() + $11::bigint * interval '1 millisecond'),
    COALESCE(timestamptz 'epoch' + $12::bigint * interval '1 millisecond', clock_timestamp() + $13::bigint * interval '1 millisecond'))/*each*/
RETURNING number, salt
