-- The last number that was given, and the highest that is there.
SELECT
    COALESCE((SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'redeliver_outbox'), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_outbox), 0)
