//! What is behind an error.

use std::{error::Error, io};

/// A cause this deep is a cycle in somebody's `source()`.
const DEEPEST: usize = 16;

/// The error, its cause, the cause of that, and so on.
pub fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // An io::Error hides the error that it was made from behind that error's own cause.
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inside.map(|inside| inside as _).or_else(|| error.source())
    })
    .take(DEEPEST)
}

/// The text of the deepest cause, which is the one that says what happened.
///
/// ```
/// use std::io;
///
/// let error = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
/// assert_eq!(redeliver::cause::root(&error), "connection refused");
/// ```
#[must_use]
pub fn root(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}
