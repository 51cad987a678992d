SELECT COALESCE(MAX(number), 0), UTC_TIMESTAMP(3) FROM redeliver_audit
