use core::time::Duration;

/// What a failure means for the question "once more?".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// It did not execute, and may work in a moment: a refused connection, a busy database.
    #[default]
    Transient,
    /// The server asks for fewer requests, and perhaps says when to come back.
    Throttled {
        /// The server's own `Retry-After`, if it gave one.
        after: Option<Duration>,
    },
    /// No retry mends it: a validation error, a missing permission.
    Permanent,
    /// It may have executed: a timeout or a reset after the request was sent. Retried only if that does no harm.
    Unknown,
}

impl Class {
    /// Throttled, without a hint from the server.
    pub const THROTTLED: Self = Self::Throttled { after: None };

    /// Throttled, with the server's wait.
    #[must_use]
    pub const fn throttled_for(after: Duration) -> Self {
        Self::Throttled { after: Some(after) }
    }

    /// Whether the failure speaks against the health of the other side, as a breaker counts it.
    #[must_use]
    pub const fn is_sign_of_trouble(self) -> bool {
        !matches!(self, Self::Permanent)
    }

    /// The class as one word, as logs show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled { .. } => "throttled",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
        }
    }
}

/// An error that knows whether a retry makes sense.
///
/// Implement it for your own error type; [`classify`](crate::classify) has tables for HTTP statuses, `std::io::Error` and error texts.
///
/// ```
/// use redeliver_policy::{Class, Classify};
///
/// enum PaymentError { CardDeclined, GatewayBusy }
///
/// impl Classify for PaymentError {
///     fn class(&self) -> Class {
///         match self {
///             PaymentError::CardDeclined => Class::Permanent,
///             PaymentError::GatewayBusy => Class::Transient,
///         }
///     }
/// }
/// # assert_eq!(PaymentError::CardDeclined.class(), Class::Permanent);
/// # assert_eq!(PaymentError::GatewayBusy.class(), Class::Transient);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which of its errors are worth a retry",
    label = "not known to be transient or permanent",
    note = "implement `redeliver::Classify` for an error type of your own",
    note = "or say it for the call: `policy.retrier().classify(|error: &{Self}| Class::Transient).run(…)`",
    note = "or say it on the spot: `.map_err(redeliver::Classified::transient)`"
)]
pub trait Classify {
    /// What this failure means for a retry.
    fn class(&self) -> Class;

    /// The kind of error in a word or two, as the `retry_attempt` event shows it.
    fn kind(&self) -> &str {
        let path = core::any::type_name::<Self>();
        // `a::b::Name<…>` reads as `Name`; generics would drown it.
        let path = path.split('<').next().unwrap_or(path);
        path.rsplit("::").next().unwrap_or(path)
    }
}

impl<E: Classify + ?Sized> Classify for &E {
    fn class(&self) -> Class {
        (**self).class()
    }

    fn kind(&self) -> &str {
        (**self).kind()
    }
}

impl Classify for core::convert::Infallible {
    fn class(&self) -> Class {
        match *self {}
    }
}
