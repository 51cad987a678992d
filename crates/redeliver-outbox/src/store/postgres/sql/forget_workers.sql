DELETE FROM redeliver_workers w
 USING (SELECT worker FROM redeliver_workers o
         WHERE o.lease_until < now() - $1 * interval '1 millisecond'
           AND NOT EXISTS (SELECT FROM redeliver_shards s WHERE s.owner = o.worker)
         LIMIT $2) AS old
 WHERE w.worker = old.worker AND w.lease_until < now() - $1 * interval '1 millisecond'
