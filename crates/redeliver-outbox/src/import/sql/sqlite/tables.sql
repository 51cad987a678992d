-- What there is instead of a table that is not there.
SELECT name
FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
ORDER BY name
LIMIT 30
