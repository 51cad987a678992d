SELECT o.number, o.salt, o.shard, o.redrives, left(o.destination, 201), left(o.topic, 201), left(o.lane, 1001)
  FROM unnest($1::smallint[], $2::bigint[], $3::bigint[]) AS stretch (shard, above, up_to)
 CROSS JOIN LATERAL (SELECT o.number, o.salt, o.shard, o.redrives, o.destination, o.topic, o.lane FROM redeliver_outbox o
                      WHERE o.shard = stretch.shard AND o.number > stretch.above AND o.number <= stretch.up_to
                        AND o.next_attempt_at IS NULL
                      ORDER BY o.number LIMIT $4) AS o
 LIMIT $4
