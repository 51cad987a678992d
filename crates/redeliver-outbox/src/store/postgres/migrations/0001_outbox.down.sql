DROP TABLE redeliver_inbox, redeliver_audit, redeliver_deduplication, redeliver_lanes, redeliver_workers, redeliver_shards,
    redeliver_attempts, redeliver_sent, redeliver_dead, redeliver_outbox;
