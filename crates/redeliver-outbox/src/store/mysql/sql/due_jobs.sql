-- Due, and in nobody's hands but ours.
SELECT id
FROM redeliver_jobs
WHERE state IN ('canary', 'ramping') AND next_step_at <= UTC_TIMESTAMP(3)
    AND (runner IS NULL OR runner = ? OR runner_until < UTC_TIMESTAMP(3)) AND (? OR id = ?)
ORDER BY next_step_at
LIMIT ?
