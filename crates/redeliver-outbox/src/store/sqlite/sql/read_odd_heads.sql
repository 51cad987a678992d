-- As a head is read, of any lane: the one that is asked for is no UTF-8 in the table, and is known by what it was read as.
SELECT shard, destination, lane, number, salt, next_attempt_at, deferred
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_scheduled
WHERE destination = ?1 AND lane IS NOT NULL AND next_attempt_at IS NOT NULL
