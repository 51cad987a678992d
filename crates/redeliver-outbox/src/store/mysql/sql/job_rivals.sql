-- The others that are not over.
SELECT id, who, matching FROM redeliver_jobs WHERE kind = ? AND state IN ('canary', 'ramping', 'paused') AND id <> ? ORDER BY id
