(SELECT shard, destination, lane, number, salt, next_attempt_at, deferred
    FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_scheduled)
    WHERE scheduled_lane = CRC32(?) AND shard = ?
        AND CAST(destination AS BINARY) = CAST(? AS BINARY) AND CAST(lane AS BINARY) = CAST(? AS BINARY)
    ORDER BY number LIMIT 2)
