SELECT destination, lane, head FROM redeliver_lanes WHERE resumed_at IS NULL
