-- The sequence is read after the snapshot that shows the rows was taken.
SELECT COALESCE(GREATEST((SELECT max((SELECT max(o.number) FROM redeliver_outbox o WHERE o.shard = s.shard)) FROM redeliver_shards s),
                         (SELECT max(number) FROM redeliver_dead),
                         (SELECT max(number) FROM redeliver_sent),
                         (SELECT max(number) FROM redeliver_events)), 0),
       COALESCE(pg_sequence_last_value('redeliver_outbox_number'::regclass), 0),
       (SELECT seqcache FROM pg_sequence WHERE seqrelid = 'redeliver_outbox_number'::regclass)
