-- The rows between two places.
SELECT {columns}
FROM {table}
WHERE {bounds}
  AND ({condition}
)
ORDER BY {order}
