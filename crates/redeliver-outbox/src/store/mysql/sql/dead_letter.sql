SELECT gap, original_payload, original_payload_binary FROM redeliver_dead WHERE number = ?
