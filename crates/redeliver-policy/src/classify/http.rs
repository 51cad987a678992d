use core::time::Duration;

use crate::Class;

/// Which HTTP statuses are worth a retry.
///
/// The default is 408, 429 and every 5xx but 501 and 505, which no wait changes. The set is yours to change:
///
/// ```
/// use redeliver_policy::{Class, classify::StatusTable};
///
/// const TABLE: StatusTable = StatusTable::DEFAULT.with(425).without(500);
/// assert_eq!(TABLE.class(425, None), Class::Unknown);
/// assert_eq!(TABLE.class(500, None), Class::Permanent);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusTable {
    retried: [u64; WORDS],
}

const LOWEST: u16 = 100;
const HIGHEST: u16 = 599;
const WORDS: usize = (HIGHEST - LOWEST) as usize / 64 + 1;

impl StatusTable {
    /// 408, 429 and 5xx without 501 and 505.
    pub const DEFAULT: Self = {
        let mut table = Self::NOTHING.with(408).with(429);
        let mut status = 500;
        while status <= HIGHEST {
            table = table.with(status);
            status += 1;
        }
        table.without(501).without(505)
    };

    /// No status at all.
    pub const NOTHING: Self = Self { retried: [0; WORDS] };

    /// Also retry this status. A number that is no HTTP status changes nothing.
    #[must_use]
    pub const fn with(mut self, status: u16) -> Self {
        if let Some((word, bit)) = place(status) {
            self.retried[word] |= bit;
        }
        self
    }

    /// Never retry this status.
    #[must_use]
    pub const fn without(mut self, status: u16) -> Self {
        if let Some((word, bit)) = place(status) {
            self.retried[word] &= !bit;
        }
        self
    }

    /// Whether the status is worth a retry.
    #[must_use]
    pub const fn retries(&self, status: u16) -> bool {
        match place(status) {
            Some((word, bit)) => self.retried[word] & bit != 0,
            None => false,
        }
    }

    /// The class of an answer with this status, and the wait its `Retry-After` asked for.
    ///
    /// 408, 429 and 503 say that the request was not handled. Any other retried status may stand for a request that was
    /// handled in part or in whole, and a gateway's 502 or 504 often does.
    #[must_use]
    pub const fn class(&self, status: u16, retry_after: Option<Duration>) -> Class {
        if !self.retries(status) {
            return Class::Permanent;
        }
        match (status, retry_after) {
            (429 | 503, after) => Class::Throttled { after },
            (_, Some(after)) => Class::throttled_for(after),
            (408, None) => Class::Transient,
            _ => Class::Unknown,
        }
    }
}

impl Default for StatusTable {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const fn place(status: u16) -> Option<(usize, u64)> {
    if status < LOWEST || status > HIGHEST {
        return None;
    }
    let index = (status - LOWEST) as usize;
    Some((index / 64, 1 << (index % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_documents_table() {
        for status in 0..=u16::MAX {
            let expected = matches!(status, 408 | 429 | 500 | 502..=504 | 506..=599);
            assert_eq!(StatusTable::DEFAULT.retries(status), expected, "{status}");
        }
    }

    #[test]
    fn a_hint_makes_any_retried_status_a_throttle() {
        let after = Some(Duration::from_secs(3));
        assert_eq!(StatusTable::DEFAULT.class(500, after), Class::Throttled { after });
        assert_eq!(StatusTable::DEFAULT.class(404, after), Class::Permanent);
        assert_eq!(StatusTable::DEFAULT.class(503, None), Class::THROTTLED);
        assert_eq!(StatusTable::DEFAULT.class(504, None), Class::Unknown);
    }
}
