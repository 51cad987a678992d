-- A key is kept for as long as its message can be sent again: while it is live, or a dead letter that nobody discarded.
DELETE FROM redeliver_deduplication d
 USING (SELECT deduplication_key FROM redeliver_deduplication k
         WHERE k.created_at < now() - $1 * interval '1 millisecond'
           AND NOT EXISTS (SELECT FROM redeliver_dead l WHERE l.number = k.number AND l.discarded_at IS NULL)
           AND NOT EXISTS (SELECT FROM redeliver_shards s JOIN redeliver_outbox o ON o.shard = s.shard AND o.number = k.number)
         ORDER BY k.created_at LIMIT $2) AS old
 WHERE d.deduplication_key = old.deduplication_key
