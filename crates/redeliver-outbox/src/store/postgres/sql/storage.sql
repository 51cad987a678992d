-- The statistics know better than the catalogue, unless they were lost in a crash.
SELECT c.relname::text, CASE WHEN s.n_live_tup > 0 THEN s.n_live_tup ELSE GREATEST(c.reltuples, 0)::bigint END,
       pg_total_relation_size(c.oid), s.n_dead_tup, GREATEST(s.last_vacuum, s.last_autovacuum), GREATEST(s.last_analyze, s.last_autoanalyze)
  FROM unnest($1::text[]) WITH ORDINALITY AS named (name, place)
  JOIN pg_class c ON c.oid = to_regclass(named.name)
  LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
 ORDER BY named.place
