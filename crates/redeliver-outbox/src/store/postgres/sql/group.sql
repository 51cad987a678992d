UPDATE redeliver_dead d
   SET fingerprint = grouped.fingerprint
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS grouped (number, destination, fingerprint)
 WHERE d.number = grouped.number AND d.destination = grouped.destination AND d.fingerprint = ''
