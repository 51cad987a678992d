CREATE TABLE IF NOT EXISTS redeliver_migrations (
    version    INT PRIMARY KEY,
    name       VARCHAR(100) NOT NULL,
    applied_at DATETIME(3) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
