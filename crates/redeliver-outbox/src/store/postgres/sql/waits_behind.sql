SELECT before.number, before.salt
  FROM redeliver_outbox AS message
  JOIN redeliver_outbox AS before
    ON before.shard = message.shard AND before.destination = message.destination AND before.lane = message.lane
   AND before.number < message.number
 WHERE message.shard = $1 AND message.number = $2
 ORDER BY before.number
 LIMIT 1
