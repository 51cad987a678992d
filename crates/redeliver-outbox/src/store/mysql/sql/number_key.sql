UPDATE redeliver_deduplication SET number = ? WHERE deduplication_key = ?
