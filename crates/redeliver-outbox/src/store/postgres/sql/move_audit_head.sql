UPDATE redeliver_audit_chain SET head_number = $1, head_hash = $2
