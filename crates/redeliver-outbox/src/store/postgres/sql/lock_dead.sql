-- Those that nobody has put back or given up in the meantime, locked in one order.
SELECT number FROM redeliver_dead WHERE number = ANY ($1::bigint[]) AND discarded_at IS NULL ORDER BY number FOR UPDATE
