UPDATE redeliver_dead SET gap = true WHERE number = $1 AND destination = $2 AND lane = $3
