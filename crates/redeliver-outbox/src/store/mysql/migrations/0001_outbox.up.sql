-- Every statement may run again: the server commits after each, so a migration that was cut off begins from the start.
-- Times are UTC. No statement holds a semicolon at the end of a line but its own.

-- The shards come first: what they say of the layout holds for the tables after them, also when another layout is asked for later.
CREATE TABLE IF NOT EXISTS redeliver_shards (
    shard    SMALLINT PRIMARY KEY,
    owner    VARCHAR(200),
    epoch    BIGINT NOT NULL DEFAULT 0,
    clean    BOOLEAN NOT NULL DEFAULT true, -- whether the last owner left nothing on its way
    held     INT NOT NULL DEFAULT 0, -- the most messages that its owner, or the last one, held at a time
    taken_at DATETIME(3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO redeliver_shards (shard) VALUES {shard_rows};

-- The hot table: what is live, and nothing else.
-- MySQL has no index over a part of the rows. Its second index leads with the shard, so that the same one serves the way forward
-- (never scheduled: next_attempt_at IS NULL, by number) and what is due.
CREATE TABLE IF NOT EXISTS redeliver_outbox (
    number          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    salt            BIGINT NOT NULL DEFAULT (FLOOR(RAND() * 4611686018427387903)),
    lane            VARCHAR(1000),
    lane_hash       INT UNSIGNED GENERATED ALWAYS AS (CRC32(lane)) STORED,
    shard           SMALLINT NOT NULL DEFAULT ({shard_of_row}),
    destination     VARCHAR(200) NOT NULL,
    payload         LONGTEXT,
    payload_binary  LONGBLOB,
    content_type    VARCHAR(200),
    headers         TEXT,
    traceparent     VARCHAR(200),
    not_before      DATETIME(3),
    expires_at      DATETIME(3),
    created_at      DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    attempts        INT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    redrives        INT NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    next_attempt_at DATETIME(3),
    last_attempt_at DATETIME(3),
    last_error      TEXT,
    last_wait_ms    BIGINT NOT NULL DEFAULT 0,
    -- The hash is carried along, so that looking for the messages of a lane walks over the index alone.
    KEY local_redeliver_outbox_due (shard, next_attempt_at, number, lane_hash),
    CHECK ((payload IS NULL) <> (payload_binary IS NULL)),
    CHECK (attempts = 0 OR last_attempt_at IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redeliver_dead (
    number           BIGINT PRIMARY KEY,
    salt             BIGINT NOT NULL,
    shard            SMALLINT NOT NULL,
    destination      VARCHAR(200) NOT NULL,
    lane             VARCHAR(1000),
    payload          LONGTEXT,
    payload_binary   LONGBLOB,
    content_type     VARCHAR(200),
    headers          TEXT,
    traceparent      VARCHAR(200),
    not_before       DATETIME(3),
    expires_at       DATETIME(3),
    created_at       DATETIME(3) NOT NULL,
    attempts         INT NOT NULL CHECK (attempts >= 0),
    redrives         INT NOT NULL CHECK (redrives >= 0),
    last_attempt_at  DATETIME(3),
    last_error       TEXT NOT NULL,
    reason           VARCHAR(40) NOT NULL CHECK (length(reason) BETWEEN 1 AND 40),
    gap              BOOLEAN NOT NULL DEFAULT false, -- its lane went on without it
    dead_lettered_at DATETIME(3) NOT NULL,
    edited_at        DATETIME(3),
    original_payload        LONGTEXT, -- as it was inserted, once an operator has changed it
    original_payload_binary LONGBLOB,
    discarded_at     DATETIME(3),
    KEY local_redeliver_dead_discarded (discarded_at),
    CHECK ((payload IS NULL) <> (payload_binary IS NULL))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redeliver_sent (
    number          BIGINT PRIMARY KEY,
    salt            BIGINT NOT NULL,
    shard           SMALLINT NOT NULL,
    destination     VARCHAR(200) NOT NULL,
    lane            VARCHAR(1000),
    payload         LONGTEXT,
    payload_binary  LONGBLOB,
    content_type    VARCHAR(200),
    headers         TEXT,
    traceparent     VARCHAR(200),
    created_at      DATETIME(3) NOT NULL,
    attempts        INT NOT NULL CHECK (attempts >= 1),
    redrives        INT NOT NULL CHECK (redrives >= 0),
    last_error      TEXT,
    sent_at         DATETIME(3) NOT NULL,
    took_ms         BIGINT NOT NULL,
    KEY local_redeliver_sent_at (sent_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Attempts that failed, or that were counted before the send and never heard of again.
CREATE TABLE IF NOT EXISTS redeliver_attempts (
    number   BIGINT NOT NULL,
    redrive  INT NOT NULL,
    attempt  INT NOT NULL,
    at       DATETIME(3) NOT NULL,
    took_ms  BIGINT,
    class    VARCHAR(40) NOT NULL,
    error    TEXT NOT NULL,
    worker   VARCHAR(200) NOT NULL,
    PRIMARY KEY (number, redrive, attempt)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redeliver_workers (
    worker      VARCHAR(200) PRIMARY KEY,
    started_at  DATETIME(3) NOT NULL,
    seen_at     DATETIME(3) NOT NULL,
    lease_until DATETIME(3) NOT NULL,
    in_flight   INT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Lanes whose head is a dead letter and that wait for an operator. The digest stands for destination and lane, which together are
-- longer than a key may be, and whose comparison would take trailing blanks for nothing.
CREATE TABLE IF NOT EXISTS redeliver_lanes (
    shard       SMALLINT NOT NULL,
    digest      BINARY(32) NOT NULL,
    destination VARCHAR(200) NOT NULL,
    lane        VARCHAR(1000) NOT NULL,
    head        BIGINT NOT NULL,
    parked_at   DATETIME(3) NOT NULL,
    resumed_at  DATETIME(3),
    PRIMARY KEY (shard, digest)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redeliver_deduplication (
    deduplication_key VARBINARY(500) PRIMARY KEY,
    number            BIGINT NOT NULL,
    salt              BIGINT NOT NULL,
    created_at        DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    KEY local_redeliver_deduplication_created (created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS redeliver_audit (
    number  BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at      DATETIME(3) NOT NULL,
    who     TEXT NOT NULL,
    action  VARCHAR(40) NOT NULL,
    message_number BIGINT,
    message_salt   BIGINT,
    why     TEXT NOT NULL,
    detail  LONGTEXT NOT NULL DEFAULT (''),
    KEY local_redeliver_audit_message (message_number),
    KEY local_redeliver_audit_at (at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Ids that a consumer has seen. It belongs into the consumer's own database; here it is when both are the same.
CREATE TABLE IF NOT EXISTS redeliver_inbox (
    consumer    VARCHAR(200) NOT NULL,
    message_id  VARCHAR(100) NOT NULL,
    received_at DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    PRIMARY KEY (consumer, message_id),
    KEY local_redeliver_inbox_received (received_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
