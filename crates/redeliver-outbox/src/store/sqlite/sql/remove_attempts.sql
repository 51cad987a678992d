-- Attempts of a message that is gone. Another message of the same number keeps its own.
DELETE FROM redeliver_attempts
WHERE number = ?1
    AND NOT EXISTS (SELECT 1 FROM redeliver_outbox o WHERE o.number = ?1 AND o.salt = redeliver_attempts.salt)
    AND NOT EXISTS (SELECT 1 FROM redeliver_dead d WHERE d.number = ?1 AND d.salt = redeliver_attempts.salt)
    AND NOT EXISTS (SELECT 1 FROM redeliver_sent s WHERE s.number = ?1 AND s.salt = redeliver_attempts.salt)
