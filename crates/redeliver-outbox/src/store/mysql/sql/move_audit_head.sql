UPDATE redeliver_audit_chain SET head_number = ?, head_hash = ?
