-- What is not deferred and has not asked for this time was put away by a relay of an earlier version.
UPDATE redeliver_outbox o
   SET next_attempt_at = statement_timestamp(), deferred = false
  FROM (SELECT m.number, m.shard
          FROM unnest($1::smallint[]) AS owned (shard)
         CROSS JOIN LATERAL (SELECT number, shard FROM redeliver_outbox o
                              WHERE o.shard = owned.shard AND o.next_attempt_at = $2
                                AND CASE WHEN o.deferred THEN o.destination <> ALL ($3::text[])
                                         ELSE o.not_before IS DISTINCT FROM o.next_attempt_at END
                              LIMIT $4) AS m
         LIMIT $4) AS away
 WHERE o.shard = away.shard AND o.number = away.number AND o.next_attempt_at = $2
