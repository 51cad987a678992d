//! A database of its own for each trial, on one server for each kind, spoken to in plain SQL without parameters.

mod client;
mod copy;
mod host;

pub(super) use client::{Connection, Failure};
pub(super) use host::{Home, Host};

use crate::crash::database::Kind;

/// Databases that speak the same SQL. Another server of a known family needs a line here and one in [`Host::start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Sqlite,
    Postgres,
    Mysql,
}

impl Family {
    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite,
            Kind::Postgres => Self::Postgres,
            Kind::Mariadb | Kind::Mysql => Self::Mysql,
        }
    }
}

impl Family {
    /// Bytes as a text, whether or not they are one.
    pub(super) fn text(self, bytes: &[u8]) -> String {
        let hex = hex(bytes);
        match self {
            Self::Sqlite => format!("CAST(X'{hex}' AS TEXT)"),
            Self::Postgres => format!("convert_from('\\x{hex}'::bytea, 'UTF8')"),
            Self::Mysql => format!("CONVERT(X'{hex}' USING utf8mb4)"),
        }
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> String {
        let hex = hex(bytes);
        match self {
            Self::Sqlite | Self::Mysql => format!("X'{hex}'"),
            Self::Postgres => format!("'\\x{hex}'::bytea"),
        }
    }

    /// A text made by the server, so that megabytes need not be sent.
    pub(super) fn repeat(self, unit: &str, times: usize) -> String {
        match self {
            Self::Sqlite => format!(
                "replace(hex(zeroblob({times})), '00', {})",
                self.text(unit.as_bytes())
            ),
            Self::Postgres | Self::Mysql => {
                format!("repeat({}, {times})", self.text(unit.as_bytes()))
            }
        }
    }

    /// Texts joined by the server.
    pub(super) fn joined(self, parts: &[String]) -> String {
        match self {
            Self::Sqlite | Self::Postgres => parts.join(" || "),
            Self::Mysql => format!("CONCAT({})", parts.join(", ")),
        }
    }

    /// The database's time, this number of milliseconds from now.
    pub(super) fn time_in(self, millis: i64) -> String {
        match self {
            Self::Sqlite => {
                format!("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + {millis}")
            }
            Self::Postgres => format!("clock_timestamp() + interval '{millis} milliseconds'"),
            Self::Mysql => format!("UTC_TIMESTAMP(3) + INTERVAL {} MICROSECOND", millis * 1000),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
