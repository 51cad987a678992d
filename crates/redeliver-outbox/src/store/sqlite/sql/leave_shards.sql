-- Shards that were not given back are free at once: of a worker that is unknown they would be after a lease.
UPDATE redeliver_shards SET taken_at = NULL WHERE owner = ?1
