-- The others that are not over.
SELECT id, who, matching FROM redeliver_jobs WHERE kind = $1 AND state IN ('canary', 'ramping', 'paused') AND id <> $2 ORDER BY id
