use std::time::Duration;

/// What an operation may know about the attempt it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// 1 for the first.
    pub number: u32,
    /// The time it may take, if it is limited. Worth passing on to the other side.
    pub timeout: Option<Duration>,
}

impl Attempt {
    pub(crate) const FIRST: Self = Self {
        number: 1,
        timeout: None,
    };

    /// Whether something failed before.
    #[must_use]
    pub const fn is_retry(&self) -> bool {
        self.number > 1
    }
}
