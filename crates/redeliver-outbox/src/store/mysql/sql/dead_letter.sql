SELECT gap, original_payload, original_payload_binary, payload, payload_binary, destination, reason, last_error
FROM redeliver_dead
WHERE number = ? AND salt & 4611686018427387903 = ?
