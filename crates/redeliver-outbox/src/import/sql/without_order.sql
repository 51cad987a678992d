-- A row that has no place in the order, and so would never be read.
SELECT 1
FROM {table}
WHERE {order} IS NULL
  AND ({condition}
)
LIMIT 1
