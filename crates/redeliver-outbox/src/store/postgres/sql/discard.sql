WITH given_up AS (
    UPDATE redeliver_dead SET discarded_at = statement_timestamp() WHERE number = ANY ($1::bigint[]) RETURNING number, salt
)
SELECT number, salt FROM given_up ORDER BY number
