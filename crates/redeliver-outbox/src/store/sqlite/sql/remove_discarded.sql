DELETE FROM redeliver_dead WHERE number = ?1 AND discarded_at IS NOT NULL
