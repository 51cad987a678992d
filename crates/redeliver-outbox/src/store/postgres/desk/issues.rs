//! Dead letters as issues.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, value};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail},
    limits::RETENTION_BATCH,
    store::desk::issues::{self, Ungrouped},
};

const ISSUES: &str = include_str!("../sql/issues.sql");

pub(super) async fn all(inner: &Inner, limit: usize) -> Result<Vec<Issue>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Glance).await?;
    let limit = value::limit(limit);
    let statement = issues::statement(ISSUES, "");
    let found = session
        .read(&statement, &[(&limit, Type::INT8)], issues::issue)
        .await?;
    session.commit().await?;
    session.closed();
    Ok(found)
}

pub(super) async fn one(inner: &Inner, fingerprint: Fingerprint) -> Result<Option<IssueDetail>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Glance).await?;
    let statement = issues::statement(ISSUES, "AND fingerprint = $2");
    let (limit, fingerprint) = (1_i64, fingerprint.column());
    let parameters: [Parameter<'_>; 2] = [(&limit, Type::INT8), (&fingerprint, Type::TEXT)];
    let found = session.read(&statement, &parameters, issues::issue).await?;
    let hours = session
        .read(
            include_str!("../sql/issue_hours.sql"),
            &parameters[1..],
            issues::hour,
        )
        .await?;
    session.commit().await?;
    session.closed();
    Ok(found
        .into_iter()
        .next()
        .map(|issue| issues::detail(issue, &hours)))
}

/// Says of a batch of dead letters which issue they are of, and whether there may be more.
pub(in crate::store::postgres) async fn group(session: &Session<'_>) -> Result<bool> {
    let batch = value::limit(RETENTION_BATCH);
    let statement = include_str!("../sql/ungrouped.sql");
    let letters: Vec<Ungrouped> = session
        .read(statement, &[(&batch, Type::INT8)], issues::ungrouped)
        .await?;
    if letters.is_empty() {
        return Ok(false);
    }
    let numbers: Vec<i64> = letters.iter().map(|letter| letter.number).collect();
    let destinations: Vec<&str> = letters.iter().map(|letter| letter.destination.as_str()).collect();
    let fingerprints: Vec<&str> = letters.iter().map(|letter| letter.fingerprint.as_str()).collect();
    let parameters: [Parameter<'_>; 3] = [
        (&numbers, Type::INT8_ARRAY),
        (&destinations, Type::TEXT_ARRAY),
        (&fingerprints, Type::TEXT_ARRAY),
    ];
    let grouped = session
        .execute(include_str!("../sql/group.sql"), &parameters)
        .await?;
    Ok(grouped > 0 && letters.len() >= RETENTION_BATCH)
}
