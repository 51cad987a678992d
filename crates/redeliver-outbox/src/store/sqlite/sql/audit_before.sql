SELECT COUNT(*), MIN(number), MIN(CASE WHEN hash IS NOT NULL THEN number END)
FROM redeliver_audit
WHERE number <= ?1
