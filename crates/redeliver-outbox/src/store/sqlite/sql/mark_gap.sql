UPDATE redeliver_dead SET gap = 1 WHERE number = ?1 AND destination = ?2 AND lane = ?3
