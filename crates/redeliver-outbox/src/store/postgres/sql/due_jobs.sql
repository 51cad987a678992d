-- Due, and in nobody's hands but ours.
SELECT id
FROM redeliver_jobs
WHERE state IN ('canary', 'ramping') AND next_step_at <= clock_timestamp()
    AND (runner IS NULL OR runner = $1 OR runner_until < clock_timestamp()) AND ($2::bigint IS NULL OR id = $2)
ORDER BY next_step_at
LIMIT $3
