use std::fmt;

/// Why relays could not be tormented. It says nothing of the relays.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CannotTorment(String);

impl CannotTorment {
    pub(crate) fn new(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}

pub(crate) type Result<T> = std::result::Result<T, CannotTorment>;

/// Says what was being done when an error came up.
pub(crate) trait While<T> {
    fn during(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> While<T> for std::result::Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| CannotTorment::new(what, error))
    }
}
