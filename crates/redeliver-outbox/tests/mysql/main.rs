//! The MariaDB and MySQL store, against the server that `REDELIVER_TEST_MARIADB` names.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod desk;
mod late;
mod lease;
mod migrate;
mod overview;
mod recovery;
mod settle;
mod support;
mod tenant;
