SELECT head_number, head_hash, anchor_number, anchor_hash FROM redeliver_audit_chain
