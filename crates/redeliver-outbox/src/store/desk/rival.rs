//! No two jobs do the same.

use crate::{
    desk::{Filter, NewJob},
    store::{
        Result, StoreError, StoreErrorKind,
        columns::{Columns, Known as _},
    },
};

/// Another job of the same kind that is not over: a row of `job_rivals.sql`.
#[derive(Debug)]
pub(in crate::store) struct Rival {
    id: i64,
    who: String,
    /// None if a newer version made it, which knows more conditions: it is for others than this one can name.
    filter: Option<Filter>,
}

pub(in crate::store) fn rival(row: &mut dyn Columns) -> Result<Rival> {
    Ok(Rival {
        id: row.number()?,
        who: row.known_text()?,
        filter: Filter::from_json(&row.known_text()?).ok(),
    })
}

/// Refuses a job that somebody else, or a second click, has made already. To be asked behind the audit entry of the new one: whoever makes
/// another at the same time waits for that until this one is committed, and is told then.
pub(in crate::store) fn refuse_second(new: &NewJob, rivals: &[Rival]) -> Result<()> {
    let same = |rival: &&Rival| {
        let filter = rival.filter.as_ref();
        filter.is_some_and(|filter| same_job(filter, &new.filter))
    };
    let Some(Rival { id, who, .. }) = rivals.iter().find(same) else {
        return Ok(());
    };
    let what = format!("job {id} of {who} does this already");
    Err(StoreError::new(StoreErrorKind::Conflict, what).next("look at it"))
}

/// Whether two jobs of one kind are for the same dead letters. How many of them, how carefully, and by when they were looked at makes no
/// difference.
fn same_job(one: &Filter, other: &Filter) -> bool {
    let whenever = |filter: &Filter| Filter {
        died_by: None,
        ..filter.clone()
    };
    whenever(one) == whenever(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn a_second_click_is_the_same_job_although_it_looked_later() {
        let by = |millis: i64, destination: &str| Filter {
            died_by: Some(Timestamp::from_millis(millis)),
            destination: Some(destination.to_owned()),
            ..Filter::default()
        };
        assert!(same_job(&by(1, "billing"), &by(2, "billing")));
        assert!(!same_job(&by(1, "billing"), &by(1, "mail")));
    }
}
