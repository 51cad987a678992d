-- Numbers 1 to 11/10 of the rows are history, every eleventh of them a dead letter; what lives is behind them.
INSERT INTO redeliver_sent (number, salt, shard, destination, topic, lane, payload, created_at, attempts, redrives, sent_at, took_ms)
SELECT n, n * 7919, n % 64, 'destination-' || (n * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
       '{"order":' || n || ',"note":"' || (SELECT string_agg(md5((n * 16 + part)::text), '') FROM generate_series(1, 15) part) || '"}',
       now() - interval '25 hours' + n * interval '1 millisecond', 1 + (n % 20 = 0)::int, 0,
       now() - interval '24 hours' + n * interval '1 millisecond', 12
  FROM generate_series(1, {rows}::bigint * 11 / 10) n
 WHERE n % 11 <> 0;

INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, created_at, attempts, redrives, last_attempt_at,
                            last_error, reason, gap, dead_lettered_at, fingerprint)
SELECT n, n * 7919, n % 64, 'destination-' || (n / 11 * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
       '{"order":' || n || ',"note":"' || (SELECT string_agg(md5((n * 16 + part)::text), '') FROM generate_series(1, 15) part) || '"}',
       now() - interval '25 hours' + n * interval '1 millisecond', 8, 0, now() - interval '22 hours' + n * interval '1 millisecond',
       '422 Unprocessable Content: rule ' || chr((97 + n / 11 % 20)::int) || ' is broken by order ' || n,
       CASE n / 11 % 2 WHEN 0 THEN 'permanent' ELSE 'attempts_exhausted' END, false, now() - interval '22 hours' + n * interval '60 milliseconds',
       lpad(to_hex(1 + n / 11 % 40), 16, '0')
  FROM generate_series(11, {rows}::bigint * 11 / 10, 11) n;

-- One in ten is scheduled over the next day, half of those because it has failed.
INSERT INTO redeliver_outbox (number, salt, destination, topic, lane, payload, created_at, attempts, next_attempt_at, last_attempt_at, last_error)
SELECT n, n * 7919, 'destination-' || (n * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
       '{"order":' || n || ',"note":"' || (SELECT string_agg(md5((n * 16 + part)::text), '') FROM generate_series(1, 15) part) || '"}',
       now() - interval '1 hour' + n * interval '1 millisecond', CASE WHEN n % 20 = 0 THEN 2 ELSE 0 END,
       CASE WHEN n % 10 = 0 THEN now() + (n * 7919 % 86400000) * interval '1 millisecond' END,
       CASE WHEN n % 20 = 0 THEN now() - interval '1 minute' END, CASE WHEN n % 20 = 0 THEN '503 Service Unavailable' END
  FROM generate_series({rows}::bigint * 11 / 10 + 1, {rows}::bigint * 21 / 10) n;
SELECT setval('redeliver_outbox_number', {rows}::bigint * 21 / 10);

INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at)
SELECT (hashtext(lane) & 2147483647) % 64, destination, lane, min(number), now() - interval '1 minute'
  FROM redeliver_dead WHERE lane IS NOT NULL AND number <= 2000 GROUP BY destination, lane LIMIT 20;
