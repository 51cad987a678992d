WITH gone AS (
    DELETE FROM redeliver_dead WHERE number = ANY ($1::bigint[]) RETURNING *
),
back AS (
    INSERT INTO redeliver_outbox (number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                                  not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error)
    SELECT number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
           -- Put back for nothing, if the time that it expired at came with it.
           not_before, CASE WHEN expires_at > statement_timestamp() THEN expires_at END, created_at,
           -- One time for all: messages of one lane are due together, and then go by number.
           0, redrives + 1, statement_timestamp(), last_attempt_at, last_error
      FROM gone
)
SELECT number, salt FROM gone ORDER BY number
