WITH gone AS (
    DELETE FROM redeliver_dead d
     USING unnest($1::bigint[], $2::bigint[]) AS letter (number, salt)
     WHERE d.number = letter.number AND d.salt & 4611686018427387903 = letter.salt
       -- Of a number that was given twice, one message is live at a time; the others stay dead letters.
       AND NOT EXISTS (SELECT FROM redeliver_outbox o WHERE o.shard = d.shard AND o.number = d.number)
       AND NOT EXISTS (SELECT FROM unnest($1::bigint[], $2::bigint[]) AS twin (number, salt)
                        WHERE twin.number = letter.number AND twin.salt < letter.salt)
    RETURNING d.*
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
