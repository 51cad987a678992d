SELECT destination, kind, cause, detail, who, since FROM redeliver_destinations ORDER BY destination
