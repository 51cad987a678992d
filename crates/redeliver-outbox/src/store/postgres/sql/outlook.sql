SELECT CASE WHEN deferred AND next_attempt_at = '9999-12-31 00:00:00+00' THEN NULL
            WHEN next_attempt_at <= now() THEN -1
            -- There is no difference to infinity.
            ELSE floor(date_part('epoch', LEAST(next_attempt_at, now() + interval '10 years') - now()) / 900)::bigint
       END AS bucket, count(*)
  FROM redeliver_outbox
 WHERE next_attempt_at IS NOT NULL
 GROUP BY bucket
