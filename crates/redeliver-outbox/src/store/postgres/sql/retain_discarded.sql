WITH old AS MATERIALIZED (
    SELECT number, salt FROM redeliver_dead WHERE discarded_at < now() - $1 * interval '1 millisecond' ORDER BY discarded_at LIMIT $2
),
attempts AS (
    DELETE FROM redeliver_attempts a USING old WHERE a.number = old.number AND a.salt = old.salt
)
DELETE FROM redeliver_dead d USING old WHERE d.number = old.number AND d.salt = old.salt
