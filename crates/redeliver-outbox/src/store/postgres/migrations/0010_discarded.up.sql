-- What was given up is found by its time when that is over, without a look at every dead letter. Nobody pays for it but who gives one up.
CREATE INDEX local_redeliver_dead_discarded ON redeliver_dead (discarded_at) WHERE discarded_at IS NOT NULL;
