CREATE OR REPLACE VIEW redeliver_messages AS
SELECT lpad(to_hex((m.number & 1152921504606846975) >> 28), 8, '0')
           || '-' || lpad(to_hex((m.number >> 12) & 65535), 4, '0')
           || '-8' || lpad(to_hex(m.number & 4095), 3, '0')
           || '-' || to_hex(32768 | ((m.salt & 4611686018427387903) >> 48))
           || '-' || lpad(to_hex(m.salt & 281474976710655), 12, '0') AS id,
       m.*
  FROM (
    SELECT o.number, o.salt, o.shard,
           CASE WHEN l.head IS NOT NULL THEN 'parked'
                WHEN COALESCE(o.next_attempt_at, o.not_before, '-infinity') <= now() AND w.worker IS NOT NULL THEN 'processing'
                WHEN o.attempts > 0 THEN 'failed'
                ELSE 'pending'
           END AS status,
           o.destination, o.lane, o.attempts, o.redrives, o.created_at,
           NULLIF(COALESCE(o.next_attempt_at, o.not_before), '9999-12-31 00:00:00+00') AS next_attempt_at,
           o.last_attempt_at, o.last_error,
           CASE WHEN l.head IS NULL AND COALESCE(o.next_attempt_at, o.not_before, '-infinity') <= now() THEN w.worker END AS locked_by,
           CASE WHEN l.head IS NULL AND COALESCE(o.next_attempt_at, o.not_before, '-infinity') <= now() AND w.worker IS NOT NULL
                THEN s.taken_at END AS locked_at,
           NULL::text AS dead_letter_reason, NULL::timestamptz AS dead_lettered_at, NULL::timestamptz AS sent_at,
           NULL::timestamptz AS discarded_at, o.expires_at, o.content_type, o.headers, o.traceparent, o.payload, o.payload_binary,
           COALESCE(o.next_attempt_at = '9999-12-31 00:00:00+00', false) AS put_away, o.topic, NULL::timestamptz AS fanned_out_at,
           'live' AS place, '' AS fingerprint
      FROM redeliver_outbox o
      JOIN redeliver_shards s ON s.shard = o.shard
      LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > now()
      LEFT JOIN redeliver_lanes l ON l.shard = o.shard AND l.destination = o.destination AND l.lane = o.lane
                                 AND l.resumed_at IS NULL AND l.head <> o.number
    UNION ALL
    SELECT number, salt, shard, CASE WHEN discarded_at IS NULL THEN 'dead_lettered' ELSE 'discarded' END, destination, lane, attempts,
           redrives, created_at, NULL, last_attempt_at, last_error, NULL, NULL, reason, dead_lettered_at, NULL, discarded_at, expires_at,
           content_type, headers, traceparent, payload, payload_binary, false, topic, NULL, 'dead', fingerprint
      FROM redeliver_dead
    UNION ALL
    SELECT number, salt, shard, 'sent', destination, lane, attempts, redrives, created_at, NULL, sent_at, last_error, NULL, NULL, NULL,
           NULL, sent_at, NULL, NULL, content_type, headers, traceparent, payload, payload_binary, false, topic, NULL, 'sent', ''
      FROM redeliver_sent
    UNION ALL
    SELECT number, salt, shard, 'fanned_out', '', lane, 0, 0, created_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           content_type, headers, traceparent, payload, payload_binary, false, topic, fanned_out_at, 'event', ''
      FROM redeliver_events
  ) AS m;
ALTER TABLE redeliver_outbox DROP COLUMN deferred;

ALTER TABLE redeliver_dead DROP CONSTRAINT local_redeliver_dead_pkey, ADD PRIMARY KEY (number);
