-- Not from the sequence as a table: every 32nd number it shows 32 too many for a moment, and then seems to go back. Nothing before the
-- first number.
SELECT COALESCE(pg_sequence_last_value('redeliver_outbox_number'::regclass), 0)
