UPDATE redeliver_dead SET gap = true WHERE number = $1
