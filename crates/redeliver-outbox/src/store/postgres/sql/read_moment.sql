-- `age` of transaction 3 is the distance to the next one, which it tells without taking one.
SELECT pg_current_snapshot()::text,
       age('3'::xid),
       now(),
       EXISTS (SELECT FROM unnest($1::smallint[]) AS owned (shard)
                CROSS JOIN LATERAL (SELECT FROM redeliver_outbox o
                                     WHERE o.shard = owned.shard AND o.next_attempt_at <= now() LIMIT 1) AS due),
       (SELECT min(later.next_attempt_at)
          FROM unnest($1::smallint[]) AS owned (shard)
         CROSS JOIN LATERAL (SELECT o.next_attempt_at FROM redeliver_outbox o
                              WHERE o.shard = owned.shard AND o.next_attempt_at > now()
                              ORDER BY o.next_attempt_at LIMIT 1) AS later),
       pg_postmaster_start_time(),
       EXISTS (SELECT FROM unnest($1::smallint[]) AS owned (shard)
                CROSS JOIN LATERAL (SELECT FROM redeliver_outbox o
                                     WHERE o.shard = owned.shard AND o.next_attempt_at IS NULL
                                       AND o.number > (SELECT COALESCE(pg_sequence_last_value('redeliver_outbox_number'::regclass), 0))
                                     LIMIT 1) AS strange)
