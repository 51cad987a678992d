DELETE FROM redeliver_dead WHERE number IN ({numbers})
