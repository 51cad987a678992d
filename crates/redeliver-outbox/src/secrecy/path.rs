use std::{fmt, str::FromStr};

/// The way to a field of a payload: names with dots between them, of which `*` is any name, or any place in a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Any,
    Named(String),
}

/// A text that leads to no field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the way to a field: names with dots between them, such as \"card.number\", of which * is any name or place"
)]
pub struct NoFieldPath;

impl FromStr for FieldPath {
    type Err = NoFieldPath;

    fn from_str(text: &str) -> Result<Self, NoFieldPath> {
        let step = |word: &str| match word {
            "" | "**" => Err(NoFieldPath),
            "*" => Ok(Step::Any),
            name => Ok(Step::Named(name.to_owned())),
        };
        text.split('.').map(step).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            let dot = if place == 0 { "" } else { "." };
            match step {
                Step::Any => write!(f, "{dot}*")?,
                Step::Named(name) => write!(f, "{dot}{name}")?,
            }
        }
        Ok(())
    }
}

impl FieldPath {
    /// Whether every field that the other leads to is one that this leads to.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let covered = |(mine, theirs): (&Step, &Step)| *mine == Step::Any || mine == theirs;
        // What is below a hidden field is hidden.
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(covered)
    }

    pub(super) fn way(&self) -> Way<'_> {
        Way(&self.0)
    }
}

/// What is left of a path, at some place of a payload.
#[derive(Clone, Copy)]
pub(super) struct Way<'p>(&'p [Step]);

impl<'p> Way<'p> {
    /// The rest of it, if it goes on at this name.
    pub(super) fn at(self, name: &str) -> Option<Self> {
        let (first, rest) = self.0.split_first()?;
        match first {
            Step::Any => Some(Way(rest)),
            Step::Named(known) => (known == name).then_some(Way(rest)),
        }
    }

    /// Whether this is where it leads.
    pub(super) const fn is_over(self) -> bool {
        self.0.is_empty()
    }
}
