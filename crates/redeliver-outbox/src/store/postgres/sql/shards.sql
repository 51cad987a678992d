SELECT now(), count(*), count(*) - count(w.worker), (SELECT count(*) FROM redeliver_workers WHERE lease_until > now())
  FROM redeliver_shards s
  LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > now()
