UPDATE redeliver_dead SET fingerprint = ?2 WHERE number = ?1 AND fingerprint = ''
