-- Delivered, where no history is kept.
DELETE FROM redeliver_outbox
WHERE number = ?1 AND salt & 4611686018427387903 = ?5 AND shard = ?2 AND MIN(redrives, 2147483647) = ?4 AND MIN(attempts, 2147483647) IN (?3 - 1, ?3)
