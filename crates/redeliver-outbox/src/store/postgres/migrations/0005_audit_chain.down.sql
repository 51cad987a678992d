DROP TABLE redeliver_audit_chain;
ALTER TABLE redeliver_audit ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY;
SELECT setval(pg_get_serial_sequence('redeliver_audit', 'number'), (SELECT coalesce(max(number), 0) + 1 FROM redeliver_audit), false);
ALTER TABLE redeliver_audit DROP COLUMN hash;
