UPDATE redeliver_dead SET discarded_at = ?2 WHERE number = ?1 AND discarded_at IS NULL
