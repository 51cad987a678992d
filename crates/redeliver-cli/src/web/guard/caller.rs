//! Who asks.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use redeliver_outbox::config::{Role, Token};
use ring::digest;

use super::super::problem::Problem;

/// Somebody whom the guard let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// As the audit trail tells it; none where nobody is asked.
    pub(crate) name: Option<String>,
    pub(crate) role: Role,
}

impl Caller {
    pub(super) const fn anybody() -> Self {
        Self {
            name: None,
            role: Role::Operate,
        }
    }

    pub(super) fn of(token: &Token) -> Self {
        Self {
            name: Some(token.name.clone()),
            role: token.role,
        }
    }

    pub(crate) fn may_operate(&self) -> bool {
        self.role >= Role::Operate
    }

    /// Who did it. A name that somebody gives counts only where nobody is asked for a token.
    pub(crate) fn who(&self, given: Option<&str>) -> String {
        match (&self.name, given.map(str::trim)) {
            (Some(name), _) => name.clone(),
            (None, Some(given)) if !given.is_empty() => given.chars().take(80).collect(),
            (None, _) => "dashboard".to_owned(),
        }
    }
}

/// A name or a reason is a sentence, not a document: everything that is done with it has a copy in the audit trail.
pub(crate) fn sentence(name: &str, given: Option<&str>) -> Result<(), Problem> {
    const LONGEST: usize = 2_000;
    let given = given.unwrap_or_default();
    if !given.contains('\0') && given.len() <= LONGEST {
        return Ok(());
    }
    let rule = format!("{name}: must have at most {LONGEST} bytes, and no NUL among them");
    Err(Problem::bad_request(rule))
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "this needs a token"))
    }
}

/// Compares in a time that depends on neither text: their digests have one length, and all of it is looked at.
pub(super) fn same(known: &[u8], given: &[u8]) -> bool {
    let (known, given) = (
        digest::digest(&digest::SHA256, known),
        digest::digest(&digest::SHA256, given),
    );
    let differences = known
        .as_ref()
        .iter()
        .zip(given.as_ref())
        .fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(differences) == 0
}
