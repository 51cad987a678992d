SELECT event.number, event.salt, event.topic,
       (event.payload IS NOT NULL OR event.payload_binary IS NOT NULL)::integer::bigint,
       EXISTS (SELECT FROM redeliver_fan_out AS made WHERE made.event_number = event.number AND made.destination = $1)::integer::bigint
  FROM redeliver_events AS event
 WHERE event.number > $2 AND event.created_at >= $3 AND ($4::timestamptz IS NULL OR event.created_at < $4)
 ORDER BY event.number
 LIMIT $5
