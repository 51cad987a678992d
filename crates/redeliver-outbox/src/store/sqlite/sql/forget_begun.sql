DELETE FROM redeliver_attempts
WHERE number = ?1 AND redrive = ?3 AND attempt = ?2 AND class = 'interrupted'
