DROP VIEW redeliver_messages;
