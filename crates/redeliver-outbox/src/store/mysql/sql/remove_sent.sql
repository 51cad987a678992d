DELETE FROM redeliver_sent WHERE number IN ({numbers})
