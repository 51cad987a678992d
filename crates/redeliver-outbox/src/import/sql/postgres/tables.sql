-- What there is instead of a table that is not there.
SELECT c.relname::text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND CASE WHEN $1 = '' THEN n.nspname = ANY (pg_catalog.current_schemas(false)) ELSE n.nspname = $1 END
ORDER BY c.relname
LIMIT 30
