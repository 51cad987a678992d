SELECT VERSION(), UTC_TIMESTAMP(3), @@GLOBAL.sql_mode, @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin,
    @@GLOBAL.sync_binlog, @@GLOBAL.binlog_format
