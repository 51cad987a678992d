WITH uncounted AS (
    UPDATE redeliver_outbox o
       SET attempts = settled.attempt - 1
      FROM unnest($1::smallint[], $2::bigint[], $3::integer[], $4::integer[], $5::bigint[])
           AS settled (shard, number, attempt, redrives, salt)
     WHERE o.shard = settled.shard AND o.number = settled.number AND o.redrives = settled.redrives AND o.salt & 4611686018427387903 = settled.salt
       AND o.attempts = settled.attempt
    RETURNING o.number, o.salt, o.redrives, settled.attempt
)
DELETE FROM redeliver_attempts a
 USING uncounted
 WHERE a.number = uncounted.number AND a.salt = uncounted.salt AND a.redrive = uncounted.redrives
   AND a.attempt = uncounted.attempt AND a.class = 'interrupted'
