-- The columns of a table or view; none if there is no such table, or if this user may not see it.
SELECT column_name, data_type, is_nullable = 'YES'
FROM information_schema.columns
WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?
ORDER BY ordinal_position
