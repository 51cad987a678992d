-- What there is instead of a table that is not there.
SELECT table_name
FROM information_schema.tables
WHERE table_schema = COALESCE(?, DATABASE())
ORDER BY table_name
LIMIT 30
