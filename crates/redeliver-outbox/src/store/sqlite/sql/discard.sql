UPDATE redeliver_dead SET discarded_at = ?2 WHERE number = ?1 AND salt & 4611686018427387903 = ?3 AND discarded_at IS NULL
