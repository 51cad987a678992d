UPDATE redeliver_dead SET gap = true WHERE number = ? AND destination = ? AND lane = ?
