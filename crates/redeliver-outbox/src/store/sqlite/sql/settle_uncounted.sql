UPDATE redeliver_outbox
SET attempts = ?3 - 1
WHERE number = ?1 AND salt & 4611686018427387903 = ?5 AND shard = ?2 AND redrives = ?4 AND attempts = ?3
