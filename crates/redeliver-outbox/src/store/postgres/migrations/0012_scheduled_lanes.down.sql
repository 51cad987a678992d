DROP INDEX redeliver_outbox_fresh;
DROP INDEX redeliver_outbox_scheduled;
