-- Due, and in nobody's hands but ours.
SELECT id
FROM redeliver_jobs
WHERE state IN ('canary', 'ramping') AND next_step_at <= ?1 AND (runner IS NULL OR runner = ?2 OR runner_until < ?1)
    AND (?3 IS NULL OR id = ?3)
ORDER BY next_step_at
LIMIT ?4
