-- The columns of a table or view, generated ones too; none if there is no such table.
SELECT name, type, "notnull" = 0
FROM pragma_table_xinfo(?1, coalesce(?2, 'main'))
WHERE hidden <> 1
