-- What the server says of its counter may be a day old on MySQL: no number that is there is above what is told.
SELECT CAST(GREATEST(
    COALESCE((SELECT auto_increment - 1 FROM information_schema.tables
        WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = 'local_redeliver_outbox'), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_outbox), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_sent), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_dead), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_events), 0)) AS SIGNED)
