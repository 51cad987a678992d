use redeliver_policy::{Class, Classify};

/// Says what an error means for a retry: the error's own [`Classify`], or a closure of yours.
pub trait Classifier<E> {
    /// What this failure means.
    fn class(&self, error: &E) -> Class;

    /// The kind of error in a word or two, as the `retry_attempt` event shows it.
    fn kind<'a>(&self, error: &'a E) -> &'a str;
}

/// Asks the error itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByTrait;

impl<E: Classify> Classifier<E> for ByTrait {
    fn class(&self, error: &E) -> Class {
        error.class()
    }

    fn kind<'a>(&self, error: &'a E) -> &'a str {
        error.kind()
    }
}

impl<E, F: Fn(&E) -> Class> Classifier<E> for F {
    fn class(&self, error: &E) -> Class {
        self(error)
    }

    fn kind<'a>(&self, _error: &'a E) -> &'a str {
        short_name::<E>()
    }
}

/// `a::b::Name<…>` reads as `Name`.
pub(crate) fn short_name<E>() -> &'static str {
    let path = std::any::type_name::<E>();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

/// An error together with what it means, for where it is known on the spot.
///
/// ```
/// use redeliver::{Class, Classified};
///
/// fn parse(body: &str) -> Result<u32, Classified<std::num::ParseIntError>> {
///     body.parse().map_err(|error| Classified::new(Class::Permanent, error))
/// }
/// # assert!(parse("x").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classified<E> {
    /// What it means for a retry.
    pub class: Class,
    /// The error itself.
    pub error: E,
}

impl<E> Classified<E> {
    /// An error of this class.
    pub const fn new(class: Class, error: E) -> Self {
        Self { class, error }
    }

    /// It may work in a moment.
    pub const fn transient(error: E) -> Self {
        Self::new(Class::Transient, error)
    }

    /// No retry mends it.
    pub const fn permanent(error: E) -> Self {
        Self::new(Class::Permanent, error)
    }
}

impl<E> Classify for Classified<E> {
    fn class(&self) -> Class {
        self.class
    }

    fn kind(&self) -> &str {
        short_name::<E>()
    }
}

impl<E: std::fmt::Display> std::fmt::Display for Classified<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Classified<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
