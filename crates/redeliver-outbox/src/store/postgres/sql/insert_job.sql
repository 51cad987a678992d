INSERT INTO redeliver_jobs (kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, created_at, updated_at, next_step_at, note)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now.at, now.at, now.at, ''
  FROM (SELECT clock_timestamp() AS at) AS now
RETURNING id
