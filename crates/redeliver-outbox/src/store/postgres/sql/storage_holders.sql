SELECT 'transaction', pid::bigint, state, application_name, extract(epoch FROM clock_timestamp() - xact_start)::bigint
  FROM pg_stat_activity
 WHERE xact_start IS NOT NULL AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
   AND pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'
UNION ALL
SELECT 'prepared transaction', NULL, 'prepared', '', extract(epoch FROM clock_timestamp() - prepared)::bigint
  FROM pg_prepared_xacts
 WHERE database = current_database()
UNION ALL
SELECT 'replication slot', active_pid::bigint, CASE WHEN active THEN 'active' ELSE 'inactive' END, slot_name::text, NULL
  FROM pg_replication_slots
 WHERE xmin IS NOT NULL
UNION ALL
SELECT 'standby', pid::bigint, state, application_name, NULL
  FROM pg_stat_replication
 WHERE backend_xmin IS NOT NULL
 ORDER BY 5 DESC NULLS LAST
 LIMIT 10
