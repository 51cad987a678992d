-- Where the rows are, and how large each is, without reading them.
SELECT {order_read}, {size}
FROM {table}
WHERE {bounds}
  AND ({condition}
)
ORDER BY {order}
LIMIT {limit}
