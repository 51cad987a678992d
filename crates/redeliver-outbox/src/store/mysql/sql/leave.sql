DELETE FROM redeliver_workers WHERE worker = ?
