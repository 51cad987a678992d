DROP TABLE IF EXISTS redeliver_job_messages;
DROP TABLE IF EXISTS redeliver_jobs;
