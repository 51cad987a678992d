INSERT INTO redeliver_jobs (kind, matching, who, why, state, canary, factor, interval_ms, stop_permille, matched, created_at, updated_at, next_step_at, note)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), '')
