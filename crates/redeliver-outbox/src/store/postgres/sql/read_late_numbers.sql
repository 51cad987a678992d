-- Everything that is still there, known or not: what is known and gone need not be remembered any longer.
SELECT o.shard, o.number
  FROM unnest($1::smallint[], $2::bigint[], $3::bigint[]) AS span (shard, beyond, up_to)
 CROSS JOIN LATERAL (SELECT o.shard, o.number FROM redeliver_outbox o
                      WHERE o.shard = span.shard AND o.number > span.beyond AND o.number <= span.up_to
                        AND o.next_attempt_at IS NULL) AS o
 ORDER BY o.shard, o.number
