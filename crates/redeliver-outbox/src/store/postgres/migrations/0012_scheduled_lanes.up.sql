-- Finds the first scheduled message of a lane. Empty while everything succeeds at the first attempt.
CREATE INDEX local_redeliver_outbox_scheduled ON redeliver_outbox (hashtext(lane), number)
 WHERE next_attempt_at IS NOT NULL AND lane IS NOT NULL;
-- What was never scheduled, by number: reading forward does not walk over what is scheduled, however much that is.
CREATE INDEX local_redeliver_outbox_fresh ON redeliver_outbox (shard, number) WHERE next_attempt_at IS NULL;
