DELETE FROM redeliver_dead WHERE number = ?1 AND salt & 4611686018427387903 = ?2
