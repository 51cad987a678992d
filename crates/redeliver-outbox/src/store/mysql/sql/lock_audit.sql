-- The last lock of every act, whatever it locked before: so no two of them wait for each other.
SELECT head_number, head_hash, anchor_number, anchor_hash FROM redeliver_audit_chain FOR UPDATE
