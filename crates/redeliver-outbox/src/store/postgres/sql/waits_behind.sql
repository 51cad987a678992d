SELECT before.number, before.salt
  FROM redeliver_outbox AS message
 CROSS JOIN LATERAL (SELECT number, salt
                       FROM redeliver_outbox
                      WHERE shard = $1 AND number < $2 AND destination = message.destination AND lane = message.lane
                      ORDER BY number
                      LIMIT 1) AS before
 WHERE message.shard = $1 AND message.number = $2
