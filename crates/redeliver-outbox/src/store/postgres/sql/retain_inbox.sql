DELETE FROM redeliver_inbox i
 USING (SELECT consumer, message_id FROM redeliver_inbox
         WHERE received_at < now() - $1 * interval '1 millisecond' ORDER BY received_at LIMIT $2) AS old
 WHERE i.consumer = old.consumer AND i.message_id = old.message_id
