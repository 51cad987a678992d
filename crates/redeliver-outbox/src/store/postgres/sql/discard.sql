WITH given_up AS (
    UPDATE redeliver_dead d
       SET discarded_at = statement_timestamp()
      FROM unnest($1::bigint[], $2::bigint[]) AS letter (number, salt)
     WHERE d.number = letter.number AND d.salt & 4611686018427387903 = letter.salt
    RETURNING d.number, d.salt
)
SELECT number, salt FROM given_up ORDER BY number, salt
