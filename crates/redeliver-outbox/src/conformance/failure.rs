use std::{error::Error, fmt};

use crate::store::StoreError;

/// What a store did other than it promised.
pub struct Failure(String);

impl Failure {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// The same, of this case.
    pub(super) fn of(self, case: &str) -> Self {
        Self(format!("{case}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a failing test prints.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let mut text = format!("an error where none was due ({:?}): {error}", error.kind());
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!("; caused by: {cause}"));
            source = cause.source();
        }
        Self(text)
    }
}

/// The result of a case.
pub(super) type Outcome<T = ()> = Result<T, Failure>;

/// Fails the case, with this text, unless the condition holds.
macro_rules! check {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            let what = format!($($what)+);
            return Err($crate::conformance::Failure::new(format!("{what} ({}:{})", file!(), line!())));
        }
    };
}

/// Fails the case unless both are equal; says what they are.
macro_rules! same {
    ($met:expr, $expected:expr, $($what:tt)+) => {
        match (&$met, &$expected) {
            (met, expected) => $crate::conformance::failure::check!(
                *met == *expected,
                "{}: met {met:?}, expected {expected:?}",
                format_args!($($what)+)
            ),
        }
    };
}

/// Fails the case unless there is nothing in it; says what is.
macro_rules! none {
    ($met:expr, $($what:tt)+) => {
        match &$met {
            met => $crate::conformance::failure::check!(
                met.is_empty(),
                "{}: met {met:?}, expected none",
                format_args!($($what)+)
            ),
        }
    };
}

pub(super) use {check, none, same};
