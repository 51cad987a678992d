ALTER TABLE redeliver_outbox DROP KEY local_redeliver_outbox_scheduled, DROP COLUMN scheduled_lane;
