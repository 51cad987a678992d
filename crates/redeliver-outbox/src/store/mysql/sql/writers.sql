SELECT
    CASE WHEN trx_query LIKE CONCAT('%', LEFT('{stamp}', 18), '%') THEN trx_query END,
    CASE WHEN trx_is_read_only = 0 AND CAST(trx_id AS UNSIGNED) BETWEEN 1 AND 281474976710655 THEN CAST(trx_id AS UNSIGNED) END
FROM information_schema.innodb_trx
