DROP TABLE redeliver_job_messages;
DROP TABLE redeliver_jobs;
