DELETE FROM redeliver_attempts
WHERE number = ?1 AND attempt = ?2 AND class = 'interrupted'
AND (salt, redrive) = (SELECT salt, redrives FROM redeliver_sent WHERE number = ?1)
