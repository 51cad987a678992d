SELECT format('a transaction of %s (process %s, %s)', COALESCE(usename::text, 'somebody else'), pid,
              COALESCE(NULLIF(application_name, ''), 'without a name')),
       extract(epoch FROM clock_timestamp() - xact_start)::bigint,
       'end it, or the process that holds it'
  FROM pg_stat_activity
 WHERE xact_start IS NOT NULL AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
   AND pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'
UNION ALL
SELECT format('the prepared transaction %L', gid), extract(epoch FROM clock_timestamp() - prepared)::bigint,
       'end it with COMMIT PREPARED or ROLLBACK PREPARED'
  FROM pg_prepared_xacts
 WHERE database = current_database()
UNION ALL
-- A slot does not say since when. Where a thousand transactions a second are many, this is no less than it was.
SELECT format('the replication slot %I', slot_name), (age(xmin) / 1000)::bigint,
       'let its replica catch up, or drop it with pg_drop_replication_slot'
  FROM pg_replication_slots
 WHERE xmin IS NOT NULL
UNION ALL
-- A standby without a slot, by hot_standby_feedback.
SELECT format('the standby %s (process %s)', COALESCE(NULLIF(application_name, ''), host(client_addr), 'without a name'), pid),
       (age(backend_xmin) / 1000)::bigint, 'end its long queries, or turn off hot_standby_feedback there'
  FROM pg_stat_replication
 WHERE backend_xmin IS NOT NULL
 ORDER BY 2 DESC NULLS LAST
 LIMIT 10
