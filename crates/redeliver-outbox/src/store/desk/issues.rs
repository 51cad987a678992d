//! Dead letters as issues.

use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail},
    store::{
        Result,
        columns::{Columns, Known as _},
    },
};

/// The statement of `issues.sql`, for all of them or narrowed.
pub(in crate::store) fn statement(issues: &str, narrowed: &str) -> String {
    issues.replace("{which}", narrowed)
}

/// A row of `issues.sql`.
pub(in crate::store) fn issue(row: &mut dyn Columns) -> Result<Issue> {
    Ok(Issue {
        fingerprint: Fingerprint::from_column(&row.known_text()?),
        destination: row.known_text()?,
        reason: row.known_text()?.parse().ok(),
        error: row.known_text()?,
        count: row.count()?,
        first_seen: row.known_time()?,
        last_seen: row.known_time()?,
        sample: row.id()?,
        parked_lanes: row.count()?,
    })
}

/// A row of `issue_hours.sql`: how many hours ago, and how many.
pub(in crate::store) fn hour(row: &mut dyn Columns) -> Result<(i64, u64)> {
    Ok((row.number()?, row.count()?))
}

pub(in crate::store) fn detail(issue: Issue, counted: &[(i64, u64)]) -> IssueDetail {
    let mut hours = [0; 24];
    for &(ago, count) in counted {
        // What a clock that was set back has left in the future is of this hour.
        let ago = usize::try_from(ago.max(0)).unwrap_or(usize::MAX);
        if let Some(hour) = hours.iter_mut().rev().nth(ago) {
            *hour += count;
        }
    }
    IssueDetail { issue, hours }
}

/// A dead letter that has no fingerprint yet: a row of `ungrouped.sql`.
pub(in crate::store) struct Ungrouped {
    pub(in crate::store) number: i64,
    /// For a guard, where somebody else may move it meanwhile.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(in crate::store) destination: String,
    pub(in crate::store) fingerprint: String,
}

pub(in crate::store) fn ungrouped(row: &mut dyn Columns) -> Result<Ungrouped> {
    let number = row.number()?;
    let destination = row.known_text()?;
    let fingerprint = Fingerprint::of(&destination, &row.known_text()?, &row.known_text()?).column();
    Ok(Ungrouped {
        number,
        fingerprint,
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        destination,
    })
}
