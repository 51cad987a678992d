WITH gone AS (
    DELETE FROM redeliver_outbox o
     USING unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[], $5::integer[], $8::bigint[])
           AS settled (shard, number, attempt, took_ms, redrives, salt)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND o.attempts IN (settled.attempt, settled.attempt - 1)
    RETURNING o.number, o.salt, o.shard, o.destination, o.topic, o.lane, o.payload, o.payload_binary, o.content_type, o.headers, o.traceparent,
              o.created_at, o.attempts, o.redrives, o.last_error, settled.attempt, settled.took_ms
),
-- Only an attempt that was counted before the send has left a line in the log that is wrong now.
arrived_after_all AS (
    DELETE FROM redeliver_attempts a
     USING (SELECT number, salt, redrives, attempt FROM gone WHERE attempts = attempt) AS counted
     WHERE a.number = counted.number AND a.salt = counted.salt AND a.redrive = counted.redrives AND a.attempt = counted.attempt
       AND a.class = 'interrupted' AND $6
),
-- Without a history ($6) nothing would ever remove the log.
forgotten AS (
    DELETE FROM redeliver_attempts a
     USING (SELECT number, salt FROM gone WHERE attempts > 0 OR redrives > 0) AS tried
     WHERE a.number = tried.number AND a.salt = tried.salt AND NOT $6
)
INSERT INTO redeliver_sent (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
                            created_at, attempts, redrives, last_error, sent_at, took_ms)
SELECT number, salt, shard, destination, topic, lane, CASE WHEN $7 THEN payload END, CASE WHEN $7 THEN payload_binary END, content_type,
       headers, traceparent, created_at, attempt, redrives, last_error, clock_timestamp(), took_ms
  FROM gone
 WHERE $6
    -- Of a number that was given twice, the history keeps the last message.
    ON CONFLICT (number) DO UPDATE
   SET salt = excluded.salt, shard = excluded.shard, destination = excluded.destination, topic = excluded.topic,
       lane = excluded.lane, payload = excluded.payload, payload_binary = excluded.payload_binary,
       content_type = excluded.content_type, headers = excluded.headers, traceparent = excluded.traceparent,
       created_at = excluded.created_at, attempts = excluded.attempts, redrives = excluded.redrives,
       last_error = excluded.last_error, sent_at = excluded.sent_at, took_ms = excluded.took_ms
