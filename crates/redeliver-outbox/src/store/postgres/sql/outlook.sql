SELECT CASE WHEN next_attempt_at <= now() THEN -1
            WHEN next_attempt_at < '9999-12-31 00:00:00+00' THEN floor(date_part('epoch', next_attempt_at - now()) / 900)::bigint
       END AS bucket, count(*)
  FROM redeliver_outbox
 WHERE next_attempt_at IS NOT NULL
 GROUP BY bucket
