UPDATE redeliver_dead
SET original_payload = ?, original_payload_binary = ?, payload = ?, payload_binary = ?,
    content_type = COALESCE(?, content_type), headers = COALESCE(?, headers), destination = COALESCE(?, destination),
    edited_at = UTC_TIMESTAMP(3), fingerprint = COALESCE(?, fingerprint)
WHERE number = ? AND salt & 4611686018427387903 = ? AND discarded_at IS NULL
