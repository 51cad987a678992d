SELECT gap, original_payload, original_payload_binary, payload, payload_binary, discarded_at IS NULL, salt, destination
  FROM redeliver_dead
 WHERE number = $1
