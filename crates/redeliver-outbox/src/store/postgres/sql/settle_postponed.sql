UPDATE redeliver_outbox o
   SET next_attempt_at = COALESCE(settled.at, clock_timestamp() + settled.after_ms * interval '1 millisecond', '9999-12-31 00:00:00+00'),
       deferred = settled.at IS NULL AND settled.after_ms IS NULL
  FROM unnest($1::smallint[], $2::bigint[], $3::timestamptz[], $4::bigint[], $5::integer[], $6::bigint[])
       AS settled (shard, number, at, after_ms, redrives, salt)
 WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
