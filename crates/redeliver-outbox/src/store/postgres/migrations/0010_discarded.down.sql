DROP INDEX redeliver_dead_discarded;
