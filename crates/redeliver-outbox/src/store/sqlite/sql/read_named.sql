SELECT
    {columns}
FROM redeliver_outbox
WHERE number = ?1
