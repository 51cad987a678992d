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
       -- Changes with every start of the server, with every reset of the sequence by DDL, and with every crash recovery, which forgets the
       -- statistics. (Before PostgreSQL 15 asking for them reads a file.)
       concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), pg_relation_filenode('redeliver_outbox_number'::regclass),
                 CASE WHEN current_setting('server_version_num')::integer >= 150000
                      THEN extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) END),
       EXISTS (SELECT FROM unnest($1::smallint[]) AS owned (shard)
                CROSS JOIN LATERAL (SELECT FROM redeliver_outbox o
                                     WHERE o.shard = owned.shard AND o.next_attempt_at IS NULL
                                       AND o.number > (SELECT COALESCE(pg_sequence_last_value('redeliver_outbox_number'::regclass), 0))
                                     LIMIT 1) AS strange)
