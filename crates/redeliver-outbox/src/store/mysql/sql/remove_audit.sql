DELETE FROM redeliver_audit WHERE number <= ?
