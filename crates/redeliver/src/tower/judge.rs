use std::fmt;

use redeliver_policy::{Class, Classify};

use crate::{ByTrait, Classifier, classifier::short_name};

/// Says which results of a service are failures, and of which class. A closure `Fn(&Result<Response, Error>) -> Option<Class>` does too.
///
/// The default asks the error's own [`Classify`] and takes every response for a success.
pub trait Judge<R, E> {
    /// What this result means for a retry; `None` if it is what the caller wants.
    fn judge(&self, result: &Result<R, E>) -> Option<Class>;

    /// The kind of error in a word or two, as the `retry_attempt` event shows it.
    fn kind<'a>(&self, error: &'a E) -> &'a str {
        let _ = error;
        short_name::<E>()
    }

    /// What an unwanted response says, as the `retry_attempt` event shows it.
    fn describe(&self, response: &R, class: Class) -> String {
        let _ = response;
        format!("the response was judged {}", class.as_str())
    }
}

impl<R, E: Classify> Judge<R, E> for ByTrait {
    fn judge(&self, result: &Result<R, E>) -> Option<Class> {
        result.as_ref().err().map(Classify::class)
    }

    fn kind<'a>(&self, error: &'a E) -> &'a str {
        error.kind()
    }
}

impl<R, E, F: Fn(&Result<R, E>) -> Option<Class>> Judge<R, E> for F {
    fn judge(&self, result: &Result<R, E>) -> Option<Class> {
        self(result)
    }
}

/// A result that the judge calls a failure, as the driver's error.
pub(super) enum Unwanted<R, E> {
    Response {
        response: R,
        class: Class,
        description: String,
    },
    Error {
        error: E,
        class: Class,
    },
}

impl<R, E> Unwanted<R, E> {
    /// The result if it is wanted, and what is wrong with it if not.
    pub(super) fn judge(result: Result<R, E>, judge: &impl Judge<R, E>) -> Result<Result<R, E>, Self> {
        let Some(class) = judge.judge(&result) else {
            return Ok(result);
        };
        Err(match result {
            Ok(response) => Self::Response {
                description: judge.describe(&response, class),
                response,
                class,
            },
            Err(error) => Self::Error { error, class },
        })
    }
}

impl<R, E: fmt::Display> fmt::Display for Unwanted<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { description, .. } => f.write_str(description),
            Self::Error { error, .. } => error.fmt(f),
        }
    }
}

/// Hands on what the judge has said already.
pub(super) struct Judged<'a, J>(pub(super) &'a J);

impl<R, E, J: Judge<R, E>> Classifier<Unwanted<R, E>> for Judged<'_, J> {
    fn class(&self, unwanted: &Unwanted<R, E>) -> Class {
        match unwanted {
            Unwanted::Response { class, .. } | Unwanted::Error { class, .. } => *class,
        }
    }

    fn kind<'a>(&self, unwanted: &'a Unwanted<R, E>) -> &'a str {
        match unwanted {
            Unwanted::Response { .. } => short_name::<R>(),
            Unwanted::Error { error, .. } => self.0.kind(error),
        }
    }
}
