SELECT count(*), min(number), min(number) FILTER (WHERE hash IS NOT NULL) FROM redeliver_audit WHERE number <= $1
