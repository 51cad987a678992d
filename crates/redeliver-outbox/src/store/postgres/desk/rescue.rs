//! Putting dead letters back, and giving them up.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, audit, look, row};
use crate::{
    MessageId,
    desk::{Act, Filter},
    store::{
        columns::Known as _,
        desk::{self, chain::Said},
    },
};

/// What to do with a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Redrive,
    Discard,
}

pub(super) async fn rescue(
    inner: &Inner,
    way: Way,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Result<Vec<MessageId>> {
    let Some((filter, page)) = desk::dead_letters(filter, at_most) else {
        return Ok(Vec::new());
    };
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let matching = look::list(&session, &filter, page, false).await?;
    let numbers: Vec<i64> = matching.iter().map(|record| record.id.number()).collect();
    let locked = session
        .query(
            include_str!("../sql/lock_dead.sql"),
            &[(&numbers, Type::INT8_ARRAY)],
        )
        .await?;
    let numbers = locked
        .iter()
        .map(|row| row::get(row, 0))
        .collect::<Result<Vec<i64>>>()?;
    let parameters: [Parameter<'_>; 1] = [(&numbers, Type::INT8_ARRAY)];
    let (statement, action) = match way {
        Way::Redrive => (include_str!("../sql/redrive.sql"), "redrive"),
        Way::Discard => (include_str!("../sql/discard.sql"), "discard"),
    };
    let changed = session.read(statement, &parameters, |row| row.id()).await?;
    if way == Way::Discard {
        session
            .execute(include_str!("../sql/free_lane.sql"), &parameters)
            .await?;
    }
    audit::append_all(&session, act, &Said::of_each(action, &changed, "")).await?;
    session.commit().await?;
    session.closed();
    Ok(changed)
}
