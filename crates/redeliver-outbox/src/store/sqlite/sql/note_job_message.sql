-- As it is now: in the outbox, or, given up, still among the dead letters.
INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome)
SELECT ?1, number, salt, shard, redrives, NULL FROM redeliver_outbox WHERE number = ?2 AND salt & 4611686018427387903 = ?3
UNION ALL
SELECT ?1, number, salt, shard, redrives, 'delivered' FROM redeliver_dead WHERE number = ?2 AND salt & 4611686018427387903 = ?3
