-- What died in the lane is kept in mind: when the lane goes on, it goes on without it. MySQL assigns from left to right, so what is asked of
-- the row as it was comes first; what LAST_INSERT_ID was given says that the lane was parked by hand before.
INSERT INTO redeliver_lanes (shard, digest, destination, lane, head, parked_at, who, why)
VALUES (?, UNHEX(SHA2(CONCAT(?, CHAR(0), ?), 256)), ?, ?, 0, UTC_TIMESTAMP(3), ?, ?)
ON DUPLICATE KEY UPDATE
    who = IF(head = 0 AND resumed_at IS NULL, IF(LAST_INSERT_ID(1) = 1, who, who), VALUES(who)),
    why = IF(head = 0 AND resumed_at IS NULL, why, VALUES(why)),
    parked_at = IF(head = 0 AND resumed_at IS NULL, parked_at, VALUES(parked_at)),
    dead_head = COALESCE(NULLIF(head, 0), dead_head),
    resumed_at = NULL,
    head = 0
