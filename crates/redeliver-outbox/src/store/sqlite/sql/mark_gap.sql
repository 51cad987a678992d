UPDATE redeliver_dead SET gap = 1 WHERE number = ?1
