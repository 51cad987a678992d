-- A row's number must come from a transaction that has its id: a reader finds late commits by the ids of the transactions that were
-- running when it passed. A default that asked the sequence first could hand out a number before the transaction is known to run.
CREATE SEQUENCE redeliver_outbox_number AS bigint CACHE 1;

-- The hot table: what is live, and nothing else.
CREATE TABLE redeliver_outbox (
    shard           smallint    NOT NULL GENERATED ALWAYS AS ({shard_of_row}) STORED,
    number          bigint      NOT NULL CHECK (number BETWEEN 1 AND 1152921504606846975) -- 60 bits are what an id has room for
                                DEFAULT (CASE WHEN pg_current_xact_id() IS NULL THEN NULL ELSE nextval('redeliver_outbox_number') END),
    salt            bigint      NOT NULL DEFAULT (random() * 4611686018427387903)::bigint,
    destination     text        NOT NULL,
    lane            text,
    payload         text,
    payload_binary  bytea,
    content_type    text,
    headers         text,
    traceparent     text,
    not_before      timestamptz,
    expires_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    redrives        integer     NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    next_attempt_at timestamptz,
    last_attempt_at timestamptz,
    last_error      text,
    last_wait_ms    bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (shard, number),
    CHECK ((payload IS NULL) <> (payload_binary IS NULL)),
    CHECK (attempts = 0 OR last_attempt_at IS NOT NULL)
);
ALTER SEQUENCE redeliver_outbox_number OWNED BY redeliver_outbox.number;
-- Empty while everything succeeds at the first attempt.
CREATE INDEX local_redeliver_outbox_due ON redeliver_outbox (shard, next_attempt_at) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE redeliver_dead (
    number           bigint      PRIMARY KEY,
    salt             bigint      NOT NULL,
    shard            smallint    NOT NULL,
    destination      text        NOT NULL,
    lane             text,
    payload          text,
    payload_binary   bytea,
    content_type     text,
    headers          text,
    traceparent      text,
    not_before       timestamptz,
    expires_at       timestamptz,
    created_at       timestamptz NOT NULL,
    attempts         integer     NOT NULL CHECK (attempts >= 0),
    redrives         integer     NOT NULL CHECK (redrives >= 0),
    last_attempt_at  timestamptz,
    last_error       text        NOT NULL,
    reason           text        NOT NULL CHECK (length(reason) BETWEEN 1 AND 40),
    gap              boolean     NOT NULL DEFAULT false, -- its lane went on without it
    dead_lettered_at timestamptz NOT NULL,
    edited_at        timestamptz,
    original_payload        text, -- as it was inserted, once an operator has changed it
    original_payload_binary bytea,
    discarded_at     timestamptz,
    CHECK ((payload IS NULL) <> (payload_binary IS NULL))
);

CREATE TABLE redeliver_sent (
    number          bigint      PRIMARY KEY,
    salt            bigint      NOT NULL,
    shard           smallint    NOT NULL,
    destination     text        NOT NULL,
    lane            text,
    payload         text,
    payload_binary  bytea,
    content_type    text,
    headers         text,
    traceparent     text,
    created_at      timestamptz NOT NULL,
    attempts        integer     NOT NULL CHECK (attempts >= 1),
    redrives        integer     NOT NULL CHECK (redrives >= 0),
    last_error      text,
    sent_at         timestamptz NOT NULL,
    took_ms         bigint      NOT NULL
);

-- Attempts that failed, or that were counted before the send and never heard of again.
CREATE TABLE redeliver_attempts (
    number   bigint      NOT NULL,
    redrive  integer     NOT NULL,
    attempt  integer     NOT NULL,
    at       timestamptz NOT NULL,
    took_ms  bigint,
    class    text        NOT NULL,
    error    text        NOT NULL,
    worker   text        NOT NULL,
    PRIMARY KEY (number, redrive, attempt)
);

CREATE TABLE redeliver_shards (
    shard    smallint PRIMARY KEY,
    owner    text,
    epoch    bigint   NOT NULL DEFAULT 0,
    clean    boolean  NOT NULL DEFAULT true, -- whether the last owner left nothing on its way
    held     integer  NOT NULL DEFAULT 0, -- the most messages that its owner, or the last one, held at a time
    taken_at timestamptz
);
INSERT INTO redeliver_shards (shard) SELECT generate_series(0, {shards} - 1);

CREATE TABLE redeliver_workers (
    worker      text        PRIMARY KEY,
    started_at  timestamptz NOT NULL,
    seen_at     timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    in_flight   integer     NOT NULL DEFAULT 0
);

-- Lanes whose head is a dead letter and that wait for an operator.
CREATE TABLE redeliver_lanes (
    shard       smallint    NOT NULL,
    destination text        NOT NULL,
    lane        text        NOT NULL,
    head        bigint      NOT NULL,
    parked_at   timestamptz NOT NULL,
    resumed_at  timestamptz,
    PRIMARY KEY (shard, destination, lane)
);

CREATE TABLE redeliver_deduplication (
    deduplication_key text        PRIMARY KEY,
    number            bigint      NOT NULL,
    salt              bigint      NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX local_redeliver_deduplication_created ON redeliver_deduplication (created_at);

CREATE TABLE redeliver_audit (
    number  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    who     text        NOT NULL,
    action  text        NOT NULL,
    message_number bigint,
    message_salt   bigint,
    why     text        NOT NULL,
    detail  text        NOT NULL DEFAULT ''
);
CREATE INDEX local_redeliver_audit_message ON redeliver_audit (message_number) WHERE message_number IS NOT NULL;

-- Ids that a consumer has seen. It belongs into the consumer's own database; here it is when both are the same.
CREATE TABLE redeliver_inbox (
    consumer    text        NOT NULL,
    message_id  text        NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, message_id)
);
CREATE INDEX local_redeliver_inbox_received ON redeliver_inbox (received_at);
