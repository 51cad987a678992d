WITH seen AS MATERIALIZED (
    SELECT destination, lane FROM redeliver_outbox WHERE number >= ?1 ORDER BY number LIMIT ?2
),
counted AS MATERIALIZED (
    SELECT destination, lane, COUNT(*) AS messages FROM seen WHERE lane IS NOT NULL GROUP BY destination, lane
)
SELECT listed.value ->> 0, listed.value ->> 1, listed.value ->> 2, COALESCE(counted.messages, 0), (SELECT COUNT(*) FROM seen) >= ?2
FROM json_each(?3) AS listed
LEFT JOIN counted ON counted.destination = listed.value ->> 1 AND counted.lane = listed.value ->> 2
