-- An insert returns no rows here, and one from a query may leave room for others between its numbers: the salts tell which are its own.
SELECT number, salt FROM redeliver_outbox WHERE number >= LAST_INSERT_ID() ORDER BY number
