SELECT table_name, CAST(table_rows AS SIGNED), CAST(data_length + index_length AS SIGNED), NULL, NULL, NULL
FROM information_schema.tables
WHERE table_schema = COALESCE(?, DATABASE()) AND table_type = 'BASE TABLE' AND table_name IN ({tables})
ORDER BY FIELD(table_name, {tables})
