-- The first number, from the head on, behind which so many are free: what was not written by us keeps its own, and is in nobody's way.
SELECT MIN(taken.number), UTC_TIMESTAMP(3)
FROM (SELECT CAST(? AS SIGNED) AS number UNION ALL SELECT number FROM redeliver_audit WHERE number > ?) AS taken
WHERE COALESCE((SELECT MIN(following.number) FROM redeliver_audit AS following WHERE following.number > taken.number),
               9223372036854775807) - taken.number > ?
