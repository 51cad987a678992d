INSERT INTO redeliver_audit (number, at, who, action, message_number, message_salt, why, detail, hash)
SELECT entry.number, $1, $2, entry.action, entry.message_number, entry.message_salt, $3, entry.detail, entry.hash
  FROM unnest($4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[])
       AS entry (number, action, message_number, message_salt, detail, hash)
