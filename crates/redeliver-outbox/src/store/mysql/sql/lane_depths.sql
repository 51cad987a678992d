WITH seen AS (
    SELECT CAST(destination AS BINARY) AS destination, CAST(lane AS BINARY) AS lane
    FROM redeliver_outbox FORCE INDEX (PRIMARY)
    WHERE number >= ?
    ORDER BY number
    LIMIT ?
),
counted AS (
    SELECT destination, lane, COUNT(*) AS messages FROM seen WHERE lane IS NOT NULL GROUP BY destination, lane
)
SELECT j.shard, j.destination, j.lane, COALESCE(counted.messages, 0), (SELECT COUNT(*) FROM seen) >= ?
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    shard INT PATH '$[0]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[1]', lane VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$[2]'
)) AS j
LEFT JOIN counted ON counted.destination = CAST(j.destination AS BINARY) AND counted.lane = CAST(j.lane AS BINARY)
