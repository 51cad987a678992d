SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'
