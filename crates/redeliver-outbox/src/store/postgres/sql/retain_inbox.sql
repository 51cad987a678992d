-- An entry is kept for as long as its message can be sent again: while it is live here, or a dead letter that nobody discarded. The
-- number is in the id: its first 15 digits but for the version, the 13th.
DELETE FROM redeliver_inbox i
 USING (SELECT k.consumer, k.message_id
          FROM redeliver_inbox k
         CROSS JOIN LATERAL (
               SELECT CASE WHEN k.message_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-'
                           THEN ('x' || substr(k.message_id, 1, 8) || substr(k.message_id, 10, 4) || substr(k.message_id, 16, 3))::bit(60)::bigint
                      END AS number) AS m
         WHERE k.received_at < now() - $1 * interval '1 millisecond'
           AND NOT EXISTS (SELECT FROM redeliver_dead l WHERE l.number = m.number AND l.discarded_at IS NULL)
           AND NOT EXISTS (SELECT FROM redeliver_shards s JOIN redeliver_outbox o ON o.shard = s.shard AND o.number = m.number)
         ORDER BY k.received_at LIMIT $2) AS old
 WHERE i.consumer = old.consumer AND i.message_id = old.message_id
