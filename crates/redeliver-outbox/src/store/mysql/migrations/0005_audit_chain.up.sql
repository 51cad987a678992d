-- Each entry is sealed with the one before it. What was written before this step has no hash: the chain begins behind it.
ALTER TABLE redeliver_audit ADD COLUMN hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin;

-- One row: the newest entry, and the last one that retention removed, or that the chain begins behind.
CREATE TABLE IF NOT EXISTS redeliver_audit_chain (
    single        TINYINT NOT NULL PRIMARY KEY CHECK (single = 1),
    head_number   BIGINT NOT NULL,
    head_hash     CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    anchor_number BIGINT NOT NULL,
    anchor_hash   CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO redeliver_audit_chain (single, head_number, head_hash, anchor_number, anchor_hash)
SELECT 1, COALESCE(MAX(number), 0), REPEAT('0', 64), COALESCE(MAX(number), 0), REPEAT('0', 64)
FROM redeliver_audit;
