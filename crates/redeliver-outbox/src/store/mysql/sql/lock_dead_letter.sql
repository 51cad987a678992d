SELECT original_payload IS NOT NULL OR original_payload_binary IS NOT NULL
FROM redeliver_dead
WHERE number = ? AND discarded_at IS NULL
FOR UPDATE
