SELECT current_setting('server_version'), clock_timestamp(),
       current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
       current_setting('synchronous_commit'), current_setting('autovacuum')::boolean, pg_is_in_recovery()
