//! The MariaDB and MySQL store, against the servers that `REDELIVER_TEST_MARIADB` and `REDELIVER_TEST_MYSQL` name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![expect(clippy::panic, reason = "as above")]
#![expect(clippy::duplicate_mod, reason = "every test runs on both servers")]

mod cluster;
mod support;
mod turns;

macro_rules! suite {
    ($name:ident, $variable:literal) => {
        #[path = "."]
        mod $name {
            use crate::support;

            /// The variable that names the server.
            const SERVER: &str = $variable;

            mod cache;
            mod desk;
            mod late;
            mod lease;
            mod migrate;
            mod overview;
            mod recovery;
            mod settle;
            mod strays;
            mod tables;
            mod tenant;
        }
    };
}

suite!(mariadb, "REDELIVER_TEST_MARIADB");
suite!(mysql, "REDELIVER_TEST_MYSQL");
