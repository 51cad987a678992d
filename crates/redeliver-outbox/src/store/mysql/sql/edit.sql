-- From left to right: the original is kept before the payload changes.
UPDATE redeliver_dead
SET original_payload = CASE WHEN ? THEN payload ELSE original_payload END,
    original_payload_binary = CASE WHEN ? THEN payload_binary ELSE original_payload_binary END,
    payload = CASE WHEN ? THEN ? ELSE payload END,
    payload_binary = CASE WHEN ? THEN ? ELSE payload_binary END,
    content_type = COALESCE(?, content_type),
    headers = COALESCE(?, headers),
    destination = COALESCE(?, destination),
    edited_at = UTC_TIMESTAMP(3)
WHERE number = ? AND discarded_at IS NULL
