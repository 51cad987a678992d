-- A lane is in one shard, which its hash finds: naming the shard would let the planner walk through the shard by number instead.
SELECT head.shard, head.destination, head.lane, head.number, head.salt, head.next_attempt_at, head.deferred
  FROM unnest($1::text[], $2::text[]) AS asked (destination, lane)
 CROSS JOIN LATERAL (SELECT o.shard, o.destination, o.lane, o.number, o.salt, o.next_attempt_at, o.deferred
                       FROM redeliver_outbox o
                      WHERE hashtext(o.lane) = hashtext(asked.lane) AND o.next_attempt_at IS NOT NULL AND o.lane IS NOT NULL
                        AND o.lane = asked.lane AND o.destination = asked.destination
                      ORDER BY o.number LIMIT 2) AS head
