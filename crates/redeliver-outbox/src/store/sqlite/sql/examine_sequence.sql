SELECT
    MAX(
        COALESCE((SELECT MAX(number) FROM redeliver_outbox), 0), COALESCE((SELECT MAX(number) FROM redeliver_dead), 0),
        COALESCE((SELECT MAX(number) FROM redeliver_sent), 0), COALESCE((SELECT MAX(number) FROM redeliver_events), 0)),
    COALESCE((SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'redeliver_outbox'), 0)
