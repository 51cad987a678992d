WITH given_up AS (
    UPDATE redeliver_dead SET discarded_at = clock_timestamp() WHERE number = ANY ($1::bigint[]) RETURNING number, salt
),
noted AS (
    INSERT INTO redeliver_audit (at, who, action, message_number, message_salt, why)
    SELECT clock_timestamp(), $2, 'discard', number, salt, $3 FROM given_up ORDER BY number
)
SELECT number, salt FROM given_up ORDER BY number
