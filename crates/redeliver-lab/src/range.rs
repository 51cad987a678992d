/// A number that a simulation cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {value}: {rule}")]
pub struct OutOfRange {
    /// What it is the number of, as the command line calls it.
    pub field: &'static str,
    /// The number, as it would be written.
    pub value: String,
    /// What is allowed.
    pub rule: String,
}

/// Holds a number to its rule.
pub(crate) fn require(
    holds: bool,
    field: &'static str,
    value: &impl ToString,
    rule: impl FnOnce() -> String,
) -> Result<(), OutOfRange> {
    if holds {
        return Ok(());
    }
    Err(OutOfRange {
        field,
        value: value.to_string(),
        rule: rule(),
    })
}
