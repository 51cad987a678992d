-- Before its first number, a sequence says 1 as it does after it.
SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM redeliver_outbox_number
