use std::{error::Error, fmt};

/// Any error, as tower's middleware passes it on.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The last error of the service inside, as the source of a [`GaveUp`](crate::GaveUp).
///
/// It is a type of its own because a boxed error is not itself an [`Error`].
#[derive(Debug)]
pub struct Cause(pub(super) BoxError);

impl Cause {
    /// The service's own error, if it is of this type.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The service's own error.
    #[must_use]
    pub fn into_inner(self) -> BoxError {
        self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
