DELETE FROM redeliver_attempts
WHERE number = ?1 AND salt & 4611686018427387903 = ?4 AND redrive = ?3 AND attempt = ?2 AND class = 'interrupted'
