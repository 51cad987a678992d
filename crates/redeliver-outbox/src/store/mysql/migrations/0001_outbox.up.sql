-- The hot table: what is live, and nothing else. Times are UTC.
-- MySQL has no index over a part of the rows. Its second index leads with the shard, so that the same one serves the way forward
-- (never scheduled: next_attempt_at IS NULL, by number) and what is due.
CREATE TABLE redeliver_outbox (
    number          BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    salt            BIGINT       NOT NULL DEFAULT (FLOOR(RAND() * 4611686018427387903)),
    lane            VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    shard           SMALLINT     NOT NULL DEFAULT ({shard_of_row}),
    destination     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    payload         LONGTEXT     CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload_binary  LONGBLOB,
    content_type    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    headers         TEXT         CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    traceparent     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    not_before      DATETIME(3),
    expires_at      DATETIME(3),
    created_at      DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    attempts        INT          NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    redrives        INT          NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    next_attempt_at DATETIME(3),
    last_attempt_at DATETIME(3),
    last_error      TEXT         CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    last_wait_ms    BIGINT       NOT NULL DEFAULT 0,
    KEY local_redeliver_outbox_due (shard, next_attempt_at),
    CHECK ((payload IS NULL) <> (payload_binary IS NULL)),
    CHECK (attempts = 0 OR last_attempt_at IS NOT NULL)
) ENGINE = InnoDB;

CREATE TABLE redeliver_dead (
    number           BIGINT PRIMARY KEY,
    salt             BIGINT NOT NULL,
    shard            SMALLINT NOT NULL,
    destination      VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lane             VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload          LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload_binary   LONGBLOB,
    content_type     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    headers          TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    traceparent      VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    not_before       DATETIME(3),
    expires_at       DATETIME(3),
    created_at       DATETIME(3) NOT NULL,
    attempts         INT NOT NULL CHECK (attempts >= 0),
    redrives         INT NOT NULL CHECK (redrives >= 0),
    last_attempt_at  DATETIME(3),
    last_error       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    reason           VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL CHECK (length(reason) BETWEEN 1 AND 40),
    gap              BOOLEAN NOT NULL DEFAULT false, -- its lane went on without it
    dead_lettered_at DATETIME(3) NOT NULL,
    edited_at        DATETIME(3),
    original_payload        LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- as it was inserted, once an operator has changed it
    original_payload_binary LONGBLOB,
    discarded_at     DATETIME(3),
    CHECK ((payload IS NULL) <> (payload_binary IS NULL))
) ENGINE = InnoDB;

CREATE TABLE redeliver_sent (
    number          BIGINT PRIMARY KEY,
    salt            BIGINT NOT NULL,
    shard           SMALLINT NOT NULL,
    destination     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lane            VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload         LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload_binary  LONGBLOB,
    content_type    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    headers         TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    traceparent     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at      DATETIME(3) NOT NULL,
    attempts        INT NOT NULL CHECK (attempts >= 1),
    redrives        INT NOT NULL CHECK (redrives >= 0),
    last_error      TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    sent_at         DATETIME(3) NOT NULL,
    took_ms         BIGINT NOT NULL
) ENGINE = InnoDB;

-- Attempts that failed, or that were counted before the send and never heard of again.
CREATE TABLE redeliver_attempts (
    number   BIGINT NOT NULL,
    redrive  INT NOT NULL,
    attempt  INT NOT NULL,
    at       DATETIME(3) NOT NULL,
    took_ms  BIGINT,
    class    VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    error    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    worker   VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (number, redrive, attempt)
) ENGINE = InnoDB;

CREATE TABLE redeliver_shards (
    shard    SMALLINT PRIMARY KEY,
    owner    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    epoch    BIGINT NOT NULL DEFAULT 0,
    clean    BOOLEAN NOT NULL DEFAULT true, -- whether the last owner left nothing on its way
    held     INT NOT NULL DEFAULT 0, -- the most messages that its owner, or the last one, held at a time
    taken_at DATETIME(3)
) ENGINE = InnoDB;

CREATE TABLE redeliver_workers (
    worker      VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,
    started_at  DATETIME(3) NOT NULL,
    seen_at     DATETIME(3) NOT NULL,
    lease_until DATETIME(3) NOT NULL,
    in_flight   INT NOT NULL DEFAULT 0
) ENGINE = InnoDB;

-- Lanes whose head is a dead letter and that wait for an operator.
CREATE TABLE redeliver_lanes (
    shard       SMALLINT NOT NULL,
    destination VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lane        VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    head        BIGINT NOT NULL,
    parked_at   DATETIME(3) NOT NULL,
    resumed_at  DATETIME(3),
    PRIMARY KEY (shard, destination, lane)
) ENGINE = InnoDB;

CREATE TABLE redeliver_deduplication (
    deduplication_key VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,
    number            BIGINT NOT NULL,
    salt              BIGINT NOT NULL,
    created_at        DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3))
) ENGINE = InnoDB;

CREATE TABLE redeliver_audit (
    number  BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at      DATETIME(3) NOT NULL,
    who     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    action  VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    message_number BIGINT,
    message_salt   BIGINT,
    why     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    detail  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT ('')
) ENGINE = InnoDB;
CREATE INDEX local_redeliver_audit_message ON redeliver_audit (message_number);

-- Ids that a consumer has seen. It belongs into the consumer's own database; here it is when both are the same.
CREATE TABLE redeliver_inbox (
    consumer    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    message_id  VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    received_at DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    PRIMARY KEY (consumer, message_id)
) ENGINE = InnoDB;
CREATE INDEX local_redeliver_inbox_received ON redeliver_inbox (received_at);
