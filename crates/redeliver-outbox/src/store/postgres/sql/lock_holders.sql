-- The longest first. Of other users' sessions a plain role sees neither the application nor the state.
SELECT format('pid %s (%s, %s, open for %s s)', a.pid, COALESCE(NULLIF(a.application_name, ''), 'no name'),
              COALESCE(a.state, a.backend_type, 'unknown'), COALESCE(extract(epoch FROM clock_timestamp() - a.xact_start)::bigint, 0))
  FROM pg_stat_activity a
 WHERE a.pid <> pg_backend_pid()
   AND EXISTS (SELECT FROM pg_locks l
                WHERE l.pid = a.pid AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND l.relation IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS locked (name)))
 ORDER BY a.xact_start NULLS LAST
 LIMIT 3
