UPDATE redeliver_dead
SET original_payload = ?2, original_payload_binary = ?3, payload = ?4, payload_binary = ?5,
    content_type = COALESCE(?6, content_type), headers = COALESCE(?7, headers), destination = COALESCE(?8, destination),
    edited_at = ?9, fingerprint = COALESCE(?10, fingerprint)
WHERE number = ?1 AND salt & 4611686018427387903 = ?11 AND discarded_at IS NULL
