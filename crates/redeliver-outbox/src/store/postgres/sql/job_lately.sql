-- What has become of those that were let out last, of those of which something is known.
SELECT outcome, count(*)
  FROM (SELECT outcome
          FROM redeliver_job_messages
         WHERE job = $1 AND number > $2 AND outcome IS NOT NULL
         ORDER BY number DESC
         LIMIT $3) AS last
 GROUP BY outcome
