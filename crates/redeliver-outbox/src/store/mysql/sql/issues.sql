WITH grouped AS (
    SELECT fingerprint, COUNT(*) AS letters, MIN(dead_lettered_at) AS first_seen, MAX(dead_lettered_at) AS last_seen
    FROM redeliver_dead
    WHERE discarded_at IS NULL {which}
    GROUP BY fingerprint
    ORDER BY letters DESC, last_seen DESC, fingerprint
    LIMIT ?
),
sampled AS (
    SELECT grouped.*, (
        SELECT letter.number
        FROM redeliver_dead AS letter
        WHERE letter.discarded_at IS NULL AND letter.fingerprint = grouped.fingerprint
        ORDER BY letter.dead_lettered_at DESC, letter.number DESC, letter.salt DESC
        LIMIT 1
    ) AS newest, (
        SELECT letter.salt
        FROM redeliver_dead AS letter
        WHERE letter.discarded_at IS NULL AND letter.fingerprint = grouped.fingerprint
        ORDER BY letter.dead_lettered_at DESC, letter.number DESC, letter.salt DESC
        LIMIT 1
    ) AS newest_salt
    FROM grouped
),
parked AS (
    SELECT head.fingerprint, COUNT(*) AS lanes
    FROM redeliver_lanes AS lane
    JOIN redeliver_dead AS head ON head.number = lane.head AND head.destination = lane.destination AND head.lane = lane.lane
    WHERE lane.resumed_at IS NULL
    GROUP BY head.fingerprint
)
SELECT sampled.fingerprint, letter.destination, letter.reason, letter.last_error, sampled.letters, sampled.first_seen, sampled.last_seen,
    letter.number, letter.salt, COALESCE(parked.lanes, 0)
FROM sampled
JOIN redeliver_dead AS letter ON letter.number = sampled.newest AND letter.salt = sampled.newest_salt
LEFT JOIN parked ON parked.fingerprint = sampled.fingerprint
ORDER BY sampled.letters DESC, sampled.last_seen DESC, sampled.fingerprint
