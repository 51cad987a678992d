SELECT 'transaction', CAST(trx_mysql_thread_id AS SIGNED), trx_state, '',
    TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM'))
FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id <> CONNECTION_ID() AND trx_mysql_thread_id > 0
ORDER BY trx_started
LIMIT 10
