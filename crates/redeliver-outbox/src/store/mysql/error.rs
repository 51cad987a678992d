//! The one place that knows the server's codes.

use std::time::Duration;

use mysql_async::{DriverError, Error, IoError, UrlError};

use crate::{
    limits::error_text,
    store::{StoreError, StoreErrorKind, schema::MIGRATE},
};

/// What the driver or the server said, in the terms of what to do about it. The text of the server is kept as the cause and not shown:
/// it quotes values.
pub(crate) fn store_error(error: Error) -> StoreError {
    let said = match &error {
        Error::Server(server) => match from_code(server.code) {
            // Of these the server says which constraint, column or trigger it is, and no value.
            said if matches!(server.code, 1048 | 1264 | 1406 | 1644 | 3819 | 4025) => {
                let what = format!("{}: {}", said.what(), error_text(&server.message));
                StoreError::new(said.kind(), what).next(said.next_step().to_owned())
            }
            said => said,
        },
        Error::Io(IoError::Io(io)) => StoreError::new(
            StoreErrorKind::Unreachable,
            format!(
                "the database cannot be reached or the connection was lost ({})",
                io.kind()
            ),
        )
        .next("check its address and that it runs"),
        Error::Io(_) => StoreError::new(
            StoreErrorKind::Unreachable,
            "no encrypted connection to the database came about",
        )
        .next("check the server's certificate and the connection's TLS settings"),
        Error::Driver(DriverError::ConnectionClosed | DriverError::PoolDisconnected) => StoreError::new(
            StoreErrorKind::Unreachable,
            "the connection to the database was closed",
        ),
        // MySQL asks users that it does not know for a way to sign in that it draws.
        Error::Driver(
            DriverError::UnknownAuthPlugin { .. }
            | DriverError::MysqlOldPasswordDisabled
            | DriverError::CleartextPluginDisabled,
        ) => StoreError::new(
            StoreErrorKind::Denied,
            "the server does not know the user, or asks for a way to sign in that is not supported",
        )
        .next("check the user and its password; caching_sha2_password is supported"),
        Error::Url(url) => return from_url(url),
        _ => StoreError::new(
            StoreErrorKind::Other,
            "the database's driver met what it did not expect",
        ),
    };
    said.caused_by(error)
}

pub(super) fn silent(patience: Duration) -> StoreError {
    let what = format!("the database did not answer within {} s", patience.as_secs_f32());
    StoreError::new(StoreErrorKind::Unreachable, what).next("check its address and that it runs")
}

/// Without its cause: a URL holds a password.
fn from_url(error: &UrlError) -> StoreError {
    let what = match error {
        UrlError::UnknownParameter { param } => {
            format!("the database's URL has an unknown parameter '{param}'")
        }
        UrlError::InvalidParamValue { param, .. } => {
            format!("the database's URL has a parameter '{param}' whose value cannot be used")
        }
        UrlError::UnsupportedScheme { .. } => "the database's URL does not begin with mysql://".to_owned(),
        _ => "the database's URL cannot be read".to_owned(),
    };
    StoreError::new(StoreErrorKind::BadInput, what)
        .next("write it as mysql://user:password@host:3306/database")
}

fn from_code(code: u16) -> StoreError {
    use StoreErrorKind as Kind;
    let (kind, what, next) = match code {
        // 1180 and 3101: another node of a cluster wrote the same row first.
        1205 | 1213 | 1020 | 1180 | 3101 | 3572 | 1317 | 1969 | 3024 => (
            Kind::Busy,
            "the database was busy: a lock was not free in time",
            "",
        ),
        1040 | 1203 | 1226 => (
            Kind::Busy,
            "the database has no connection left for us",
            "raise max_connections or the user's limit",
        ),
        1146 | 1054 | 1356 => (
            Kind::NotMigrated,
            "the outbox's tables are missing or older than this program",
            MIGRATE,
        ),
        1049 => (
            Kind::NotMigrated,
            "there is no database of this name",
            "create it, then run `redeliver migrate`",
        ),
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1410 | 1698 | 1251 | 3118 => (
            Kind::Denied,
            "the database does not let this user in, or not do this",
            "check the user, its password and its grants",
        ),
        1290 | 1792 | 1836 => (
            Kind::ReadOnly,
            "the database is read-only",
            "connect to the primary server",
        ),
        1021 | 1114 | 1041 | 1037 | 1038 => (
            Kind::ReadOnly,
            "the database has no space or memory left",
            "make room on its disk",
        ),
        1064 | 1128 | 1193 | 1305 | 1235 => (
            Kind::Unsupported,
            "the server does not know a statement that is needed",
            "use MariaDB 10.6, MySQL 8.0.19 or newer",
        ),
        1053 | 1077..=1080 | 1130 | 1129 | 1152 | 1158..=1161 | 1184 | 1189 | 1927 | 2006 | 2013 | 4031 => (
            Kind::Unreachable,
            "the database ended the connection",
            "check that it runs",
        ),
        1047 | 3100 => (
            Kind::Unreachable,
            "the server is not a working member of its cluster at the moment",
            "check the cluster's state, or connect to another node",
        ),
        1153 | 1301 => (
            Kind::BadInput,
            "what was sent is larger than the server takes",
            "raise max_allowed_packet",
        ),
        1264 | 1365 | 1366 | 1406 | 1292 | 1048 | 1364 | 1265 | 1690 | 3140 | 3141 | 3854 | 4038 => (
            Kind::BadInput,
            "a value does not fit its column",
            "shorten or correct it",
        ),
        1644 | 1643 | 1442 | 1172 | 1415 => (
            Kind::Refused,
            "a trigger refused what was to be written",
            "look for a trigger on the table that redeliver did not make",
        ),
        1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762 | 3819 | 4025 => (
            Kind::Refused,
            "a constraint refused what was to be written",
            "look for a constraint on the table that redeliver did not make",
        ),
        _ => {
            let what = format!("the database refused a statement (code {code})");
            return StoreError::new(Kind::Other, what);
        }
    };
    StoreError::new(kind, what).next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_what_to_do() {
        for (code, kind) in [
            (1213, StoreErrorKind::Busy),
            (1205, StoreErrorKind::Busy),
            (1020, StoreErrorKind::Busy),
            (1180, StoreErrorKind::Busy),
            (3101, StoreErrorKind::Busy),
            (1047, StoreErrorKind::Unreachable),
            (3100, StoreErrorKind::Unreachable),
            (1146, StoreErrorKind::NotMigrated),
            (1045, StoreErrorKind::Denied),
            (1290, StoreErrorKind::ReadOnly),
            (1053, StoreErrorKind::Unreachable),
            (1406, StoreErrorKind::BadInput),
            (1644, StoreErrorKind::Refused),
            (4025, StoreErrorKind::Refused),
            (9999, StoreErrorKind::Other),
        ] {
            assert_eq!(from_code(code).kind(), kind, "{code}");
        }
    }

    #[test]
    fn a_url_is_never_shown() {
        let error = mysql_async::Opts::from_url("mysql://u:s3cret@h/db?nonsense=1").map(|_| ());
        let said = store_error(Error::Url(error.unwrap_err()));
        assert!(!format!("{said} {said:?}").contains("s3cret"), "{said:?}");
        assert_eq!(said.kind(), StoreErrorKind::BadInput);
    }
}
