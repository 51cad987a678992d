DELETE FROM redeliver_attempts WHERE number IN ({numbers})
