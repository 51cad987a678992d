SELECT shard FROM redeliver_outbox WHERE destination = $1 AND lane = $2 LIMIT 1
