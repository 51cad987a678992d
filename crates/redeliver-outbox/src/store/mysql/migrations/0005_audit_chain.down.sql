DROP TABLE IF EXISTS redeliver_audit_chain;
ALTER TABLE redeliver_audit DROP COLUMN hash;
