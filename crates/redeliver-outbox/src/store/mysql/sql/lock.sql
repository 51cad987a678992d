SELECT number, shard, attempts, redrives FROM redeliver_outbox WHERE number IN ({numbers}) ORDER BY number FOR UPDATE
