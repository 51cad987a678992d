DROP VIEW IF EXISTS redeliver_messages;
DROP VIEW IF EXISTS redeliver_messages_sent;
DROP VIEW IF EXISTS redeliver_messages_dead;
DROP VIEW IF EXISTS redeliver_messages_live;
