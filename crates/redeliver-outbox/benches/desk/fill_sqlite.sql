-- Numbers 1 to 11/10 of the rows are history, every eleventh of them a dead letter; what lives is behind them.
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {rows} * 11 / 10)
INSERT INTO redeliver_sent (number, salt, shard, destination, topic, lane, payload, created_at, attempts, redrives, sent_at, took_ms)
SELECT n, n * 7919, 0, 'destination-' || (n * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
    '{"order":' || n || ',"note":"' || hex(zeroblob(240)) || '"}', {now} - 90000000 + n, 1 + (n % 20 = 0), 0, {now} - 86400000 + n, 12
FROM counted WHERE n % 11 <> 0;

WITH RECURSIVE counted (n) AS (SELECT 11 UNION ALL SELECT n + 11 FROM counted WHERE n + 11 <= {rows} * 11 / 10)
INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, created_at, attempts, redrives, last_attempt_at,
    last_error, reason, gap, dead_lettered_at, fingerprint)
SELECT n, n * 7919, 0, 'destination-' || (n / 11 * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
    '{"order":' || n || ',"note":"' || hex(zeroblob(240)) || '"}', {now} - 90000000 + n, 8, 0, {now} - 80000000 + n,
    '422 Unprocessable Content: rule ' || char(97 + n / 11 % 20) || ' is broken by order ' || n,
    CASE n / 11 % 2 WHEN 0 THEN 'permanent' ELSE 'attempts_exhausted' END, 0, {now} - 80000000 + n * 60, printf('%016x', 1 + n / 11 % 40)
FROM counted;

-- One in ten is scheduled over the next day, half of those because it has failed.
WITH RECURSIVE counted (n) AS (SELECT {rows} * 11 / 10 + 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {rows} * 21 / 10)
INSERT INTO redeliver_outbox (number, salt, destination, topic, lane, payload, created_at, attempts, next_attempt_at, last_attempt_at, last_error)
SELECT n, n * 7919, 'destination-' || (n * 31 % 6), 'orders.paid', CASE WHEN n % 2 = 0 THEN 'order-' || (n * 7919 % 1000) END,
    '{"order":' || n || ',"note":"' || hex(zeroblob(240)) || '"}', {now} - 3600000 + n, CASE WHEN n % 20 = 0 THEN 2 ELSE 0 END,
    CASE WHEN n % 10 = 0 THEN {now} + n * 7919 % 86400000 END, CASE WHEN n % 20 = 0 THEN {now} - 60000 END,
    CASE WHEN n % 20 = 0 THEN '503 Service Unavailable' END
FROM counted;

INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at)
SELECT 0, destination, lane, MIN(number), {now} - number FROM redeliver_dead WHERE lane IS NOT NULL AND number <= 2000 GROUP BY destination, lane LIMIT 20;
