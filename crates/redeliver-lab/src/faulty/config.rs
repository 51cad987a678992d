//! What the fault server is told at its start.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use thiserror::Error;

/// How the fault server behaves where a request does not say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyConfig {
    /// Where it listens: a loopback address; port 0 takes any free port.
    pub listen: SocketAddr,
    /// Percent of payment requests that fail, 0 to 100.
    pub fail_rate: u8,
    /// Longest random delay before a payment is answered, at most an hour.
    pub max_delay: Duration,
    /// Seconds that a failure's `Retry-After` asks for, at most a year.
    pub retry_after: u64,
    /// All chance comes from here: the same seed and the same order of requests give the same faults.
    pub seed: u64,
    /// Mean number of items that `/ws` and `/sse` send before they drop the connection; 0 never drops.
    pub drop_after: u64,
    /// Connections served at once; further ones wait in the listener's backlog.
    pub max_connections: usize,
    /// Largest request body that is read; a larger one is answered 413.
    pub max_body: usize,
    /// Longest life of a connection, so that `/hang` and `/endless` end too.
    pub max_connection_age: Duration,
}

impl Default for FaultyConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            fail_rate: 40,
            max_delay: Duration::from_millis(800),
            retry_after: 1,
            seed: 1,
            drop_after: 20,
            max_connections: 1024,
            max_body: 1024 * 1024,
            max_connection_age: Duration::from_secs(60 * 60),
        }
    }
}

/// A configuration that the server refuses, naming the field, its value and what is allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {value} is not allowed; {allowed}")]
pub struct ConfigError {
    field: &'static str,
    value: String,
    allowed: &'static str,
}

impl ConfigError {
    /// Name of the field at fault, as in [`FaultyConfig`].
    pub fn field(&self) -> &'static str {
        self.field
    }
}

pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);
pub(crate) const LONGEST_RETRY_AFTER: u64 = 365 * 24 * 60 * 60;
pub(crate) const LARGEST_DROP_AFTER: u64 = 1_000_000_000;
const LONGEST_AGE: Duration = Duration::from_secs(24 * 60 * 60);
const LARGEST_BODY: usize = 64 * 1024 * 1024;
const MOST_CONNECTIONS: usize = 65_536;

impl FaultyConfig {
    /// Checks every field; the first that is out of its range is named.
    ///
    /// # Errors
    /// A [`ConfigError`] with the field, the value and the range.
    ///
    /// ```
    /// use redeliver_lab::faulty::FaultyConfig;
    /// let wrong = FaultyConfig { fail_rate: 101, ..FaultyConfig::default() };
    /// let error = wrong.validate().unwrap_err();
    /// assert_eq!(error.to_string(), "fail_rate: 101 is not allowed; give a percentage from 0 to 100");
    /// ```
    pub fn validate(&self) -> Result<(), ConfigError> {
        let rule = |kept: bool, field, value: String, allowed| match kept {
            true => Ok(()),
            false => Err(ConfigError {
                field,
                value,
                allowed,
            }),
        };
        rule(
            self.listen.ip().is_loopback(),
            "listen",
            self.listen.to_string(),
            "a server that fails on purpose listens on a loopback address only, such as 127.0.0.1:0",
        )?;
        rule(
            self.fail_rate <= 100,
            "fail_rate",
            self.fail_rate.to_string(),
            "give a percentage from 0 to 100",
        )?;
        rule(
            self.max_delay <= LONGEST_DELAY,
            "max_delay",
            format!("{:?}", self.max_delay),
            "give a duration from 0 to 1h",
        )?;
        rule(
            self.retry_after <= LONGEST_RETRY_AFTER,
            "retry_after",
            self.retry_after.to_string(),
            "give seconds from 0 to 31536000 (a year)",
        )?;
        rule(
            self.drop_after <= LARGEST_DROP_AFTER,
            "drop_after",
            self.drop_after.to_string(),
            "give a mean number of items from 0 (never) to 1000000000",
        )?;
        rule(
            (1..=MOST_CONNECTIONS).contains(&self.max_connections),
            "max_connections",
            self.max_connections.to_string(),
            "give a count from 1 to 65536",
        )?;
        rule(
            self.max_body <= LARGEST_BODY,
            "max_body",
            self.max_body.to_string(),
            "give bytes from 0 to 67108864 (64 MiB)",
        )?;
        rule(
            !self.max_connection_age.is_zero() && self.max_connection_age <= LONGEST_AGE,
            "max_connection_age",
            format!("{:?}", self.max_connection_age),
            "give a duration above 0 and up to 24h",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_documents_server() {
        let config = FaultyConfig::default();
        config.validate().unwrap();
        assert_eq!(
            (config.fail_rate, config.max_delay.as_millis(), config.retry_after),
            (40, 800, 1)
        );
    }

    #[test]
    fn each_field_out_of_range_is_named() {
        let base = FaultyConfig::default;
        let wrong = [
            (
                "listen",
                FaultyConfig {
                    listen: SocketAddr::from(([0, 0, 0, 0], 80)),
                    ..base()
                },
            ),
            (
                "fail_rate",
                FaultyConfig {
                    fail_rate: 101,
                    ..base()
                },
            ),
            (
                "max_delay",
                FaultyConfig {
                    max_delay: Duration::MAX,
                    ..base()
                },
            ),
            (
                "retry_after",
                FaultyConfig {
                    retry_after: u64::MAX,
                    ..base()
                },
            ),
            (
                "drop_after",
                FaultyConfig {
                    drop_after: u64::MAX,
                    ..base()
                },
            ),
            (
                "max_connections",
                FaultyConfig {
                    max_connections: 0,
                    ..base()
                },
            ),
            (
                "max_body",
                FaultyConfig {
                    max_body: usize::MAX,
                    ..base()
                },
            ),
            (
                "max_connection_age",
                FaultyConfig {
                    max_connection_age: Duration::ZERO,
                    ..base()
                },
            ),
        ];
        for (field, config) in wrong {
            assert_eq!(config.validate().unwrap_err().field(), field);
        }
    }
}
