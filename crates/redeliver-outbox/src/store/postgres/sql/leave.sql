DELETE FROM redeliver_workers WHERE worker = $1
