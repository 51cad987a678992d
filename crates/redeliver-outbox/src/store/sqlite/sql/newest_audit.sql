SELECT COALESCE(MAX(number), 0) FROM redeliver_audit
