SELECT destination, sum(sent)::bigint, sum(dead)::bigint
  FROM (SELECT destination, count(*) AS sent, 0 AS dead FROM redeliver_sent GROUP BY destination
        UNION ALL
        SELECT destination, 0, count(*) FROM redeliver_dead WHERE discarded_at IS NULL GROUP BY destination
        UNION ALL
        SELECT '', count(*), 0 FROM redeliver_events) AS ended
 GROUP BY destination
