DELETE FROM redeliver_lanes
WHERE rowid IN (SELECT rowid FROM redeliver_lanes WHERE resumed_at < ?1 LIMIT ?2)
