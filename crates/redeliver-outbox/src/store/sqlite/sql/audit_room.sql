-- The first number, from the head on, behind which so many are free: what was not written by us keeps its own, and is in nobody's way.
SELECT MIN(taken.number)
FROM (SELECT ?1 AS number UNION ALL SELECT number FROM redeliver_audit WHERE number > ?1) AS taken
WHERE COALESCE((SELECT MIN(following.number) FROM redeliver_audit AS following WHERE following.number > taken.number),
               9223372036854775807) - taken.number > ?2
