//! Dead letters as issues.

use super::{Done, Session, row};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail},
    limits::RETENTION_BATCH,
    store::desk::issues,
};

const ISSUES: &str = include_str!("../sql/issues.sql");

pub(super) fn all(session: &Session<'_>, limit: usize) -> Done<Vec<Issue>> {
    session.read(&issues::statement(ISSUES, ""), [row::limit(limit)], issues::issue)
}

pub(super) fn one(session: &Session<'_>, fingerprint: Fingerprint) -> Done<Option<IssueDetail>> {
    let statement = issues::statement(ISSUES, "AND fingerprint = ?2");
    let fingerprint = fingerprint.column();
    let found = session.read(&statement, (1, &fingerprint), issues::issue)?;
    let Some(issue) = found.into_iter().next() else {
        return Ok(None);
    };
    let values = (&fingerprint, session.now.as_millis());
    let hours = session.read(include_str!("../sql/issue_hours.sql"), values, issues::hour)?;
    Ok(Some(issues::detail(issue, &hours)))
}

/// Says of a batch of dead letters which issue they are of, and whether there may be more.
pub(in crate::store::sqlite) fn group(session: &Session<'_>) -> Done<bool> {
    let batch = [row::limit(RETENTION_BATCH)];
    let letters = session.read(include_str!("../sql/ungrouped.sql"), batch, issues::ungrouped)?;
    for letter in &letters {
        let values = (letter.number, &letter.fingerprint);
        session.execute(include_str!("../sql/group.sql"), values)?;
    }
    Ok(letters.len() >= RETENTION_BATCH)
}
