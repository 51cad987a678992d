-- The end of a UUID is drawn when a server starts: it tells two starts within one second from each other.
SELECT UTC_TIMESTAMP(3), CONCAT_WS('/', @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.server_id, @@GLOBAL.datadir, SUBSTRING(UUID(), 20)),
    CAST(@@GLOBAL.read_only AS CHAR) NOT IN ('0', 'OFF')
