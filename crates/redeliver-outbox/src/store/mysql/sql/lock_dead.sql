SELECT number FROM redeliver_dead WHERE number IN ({numbers}) AND discarded_at IS NULL ORDER BY number FOR UPDATE
