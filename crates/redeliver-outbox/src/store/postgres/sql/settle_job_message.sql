UPDATE redeliver_job_messages SET outcome = $3 WHERE job = $1 AND number = ANY ($2::bigint[])
