DELETE FROM redeliver_lanes l
 USING (SELECT shard, destination, lane FROM redeliver_lanes
         WHERE resumed_at < now() - $1 * interval '1 millisecond' LIMIT $2) AS old
 WHERE l.shard = old.shard AND l.destination = old.destination AND l.lane = old.lane AND l.resumed_at IS NOT NULL
