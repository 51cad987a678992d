SELECT EXISTS (
    SELECT 1 FROM redeliver_outbox
    WHERE number = ?1 AND salt & 4611686018427387903 = ?4 AND shard = ?2 AND MIN(redrives, 2147483647) = ?3 AND destination = '')
