-- Only if the head has really left: a settlement that did not fit its row has changed nothing.
DELETE FROM redeliver_lanes l
 USING unnest($1::smallint[], $2::bigint[]) AS settled (shard, number)
 WHERE l.shard = settled.shard AND l.head = settled.number
   AND NOT EXISTS (SELECT FROM redeliver_outbox o WHERE o.shard = l.shard AND o.number = l.head)
