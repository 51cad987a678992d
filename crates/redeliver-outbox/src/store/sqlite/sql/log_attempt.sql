INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
SELECT number, salt, redrives, ?2, ?3, ?4, ?5, ?6, ?7 FROM redeliver_outbox WHERE number = ?1
ON CONFLICT (number, salt, redrive, attempt) DO UPDATE
SET at = excluded.at, took_ms = excluded.took_ms, class = excluded.class, error = excluded.error, worker = excluded.worker
-- What came of an attempt replaces that it was begun, never the other way round.
WHERE excluded.class <> 'interrupted'
