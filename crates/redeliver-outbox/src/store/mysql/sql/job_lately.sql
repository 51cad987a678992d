-- What has become of those that were let out last, of those of which something is known.
SELECT outcome, COUNT(*)
FROM (
    SELECT outcome
    FROM redeliver_job_messages FORCE INDEX (PRIMARY)
    WHERE job = ? AND number > ? AND outcome IS NOT NULL
    ORDER BY number DESC
    LIMIT ?
) AS last
GROUP BY outcome
