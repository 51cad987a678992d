INSERT INTO redeliver_outbox
    (salt, destination, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
VALUES /*each*/($1::bigint, $2::text, $3::text, $4::text, $5::bytea, $6::text, $7::text, $8::text,
    COALESCE(timestamptz 'epoch' + $9::bigint * interval '1 millisecond', clock_timestamp() + $10::bigint * interval '1 millisecond'),
    COALESCE(timestamptz 'epoch' + $11::bigint * interval '1 millisecond', clock_timestamp() + $12::bigint * interval '1 millisecond'))/*each*/
RETURNING number, salt
