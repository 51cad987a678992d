DELETE FROM redeliver_attempts
WHERE number = ?1 AND attempt = ?2 AND class = 'interrupted'
AND redrive = (SELECT redrives FROM redeliver_sent WHERE number = ?1)
