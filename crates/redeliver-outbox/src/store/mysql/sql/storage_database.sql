SELECT CAST(SUM(data_length + index_length) AS SIGNED), CAST(SUM(data_free) AS SIGNED)
FROM information_schema.tables
WHERE table_schema = COALESCE(?, DATABASE())
