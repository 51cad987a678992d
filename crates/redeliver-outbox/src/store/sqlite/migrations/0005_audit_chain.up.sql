-- Each entry is sealed with the one before it. What was written before this step has no hash: the chain begins behind it.
ALTER TABLE redeliver_audit ADD COLUMN hash TEXT;

-- One row: the newest entry, and the last one that retention removed, or that the chain begins behind.
CREATE TABLE redeliver_audit_chain (
    single        INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    head_number   INTEGER NOT NULL,
    head_hash     TEXT    NOT NULL,
    anchor_number INTEGER NOT NULL,
    anchor_hash   TEXT    NOT NULL
);
INSERT INTO redeliver_audit_chain (single, head_number, head_hash, anchor_number, anchor_hash)
SELECT 1, coalesce(max(number), 0), '0000000000000000000000000000000000000000000000000000000000000000',
       coalesce(max(number), 0), '0000000000000000000000000000000000000000000000000000000000000000'
FROM redeliver_audit;
