SELECT coalesce(max(number), 0), clock_timestamp() FROM redeliver_audit
