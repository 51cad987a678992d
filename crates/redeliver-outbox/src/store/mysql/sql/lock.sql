-- By its numbers whatever the statistics say: going through the table would wait for every row that a writer has not committed.
SELECT number, shard, attempts, redrives
FROM redeliver_outbox FORCE INDEX (PRIMARY)
WHERE number IN ({numbers})
ORDER BY number
FOR UPDATE
