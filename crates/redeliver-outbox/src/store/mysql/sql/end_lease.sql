UPDATE redeliver_workers SET lease_until = UTC_TIMESTAMP(3) WHERE worker = ?
