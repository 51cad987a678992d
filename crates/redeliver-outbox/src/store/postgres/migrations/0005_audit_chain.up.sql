-- Each entry is sealed with the one before it. What was written before this step has no hash: the chain begins behind it.
ALTER TABLE redeliver_audit ADD COLUMN hash text;
-- The chain gives the numbers: those of a sequence have gaps where a transaction was rolled back.
ALTER TABLE redeliver_audit ALTER COLUMN number DROP IDENTITY;

-- One row: the newest entry, and the last one that retention removed, or that the chain begins behind.
CREATE TABLE redeliver_audit_chain (
    single        smallint NOT NULL PRIMARY KEY CHECK (single = 1),
    head_number   bigint   NOT NULL,
    head_hash     text     NOT NULL,
    anchor_number bigint   NOT NULL,
    anchor_hash   text     NOT NULL
);
INSERT INTO redeliver_audit_chain (single, head_number, head_hash, anchor_number, anchor_hash)
SELECT 1, coalesce(max(number), 0), repeat('0', 64), coalesce(max(number), 0), repeat('0', 64)
  FROM redeliver_audit;
