UPDATE redeliver_audit_chain SET anchor_number = ?1, anchor_hash = ?2
