UPDATE redeliver_audit_chain SET anchor_number = ?, anchor_hash = ?
