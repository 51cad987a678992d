UPDATE redeliver_dead SET discarded_at = UTC_TIMESTAMP(3) WHERE number IN ({numbers}) AND discarded_at IS NULL
