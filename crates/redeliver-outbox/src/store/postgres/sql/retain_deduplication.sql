DELETE FROM redeliver_deduplication d
 USING (SELECT deduplication_key FROM redeliver_deduplication
         WHERE created_at < now() - $1 * interval '1 millisecond' ORDER BY created_at LIMIT $2) AS old
 WHERE d.deduplication_key = old.deduplication_key
