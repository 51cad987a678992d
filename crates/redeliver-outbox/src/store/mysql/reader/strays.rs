//! Rows with numbers below 1. No id has room for them, so that no verdict on them could be written.

use mysql_async::Conn;

use crate::store::{
    Result,
    columns::Known as _,
    mysql::{MySqlStore, Work},
};

/// So many get another number at a time.
const AT_A_TIME: usize = 100;

/// Whether there are such rows.
pub(super) async fn are_there(work: &mut Work<'_>) -> Result<bool> {
    let row = work.row(include_str!("../sql/has_strays.sql"), ()).await?;
    row.map_or(Ok(false), |mut row| row.flag())
}

/// Gives the first of them numbers of the table's own, in their order, so that they are read like any other. Any relay may do so: none
/// has read them.
pub(super) async fn renumber(store: &MySqlStore, connection: &mut Conn) -> Result<()> {
    let mut work = Work::begin(store, connection).await?;
    let strays = work
        .read(include_str!("../sql/lock_strays.sql"), (AT_A_TIME,), |row| {
            row.number()
        })
        .await?;
    let Some(&last) = strays.last() else {
        return work.abandon().await;
    };
    work.run(include_str!("../sql/renumber_strays.sql"), (last,))
        .await?;
    work.run(include_str!("../sql/remove_strays.sql"), (last,))
        .await?;
    work.commit().await?;
    tracing::warn!(
        target: "redeliver",
        "{} rows had a number below 1, which no message can have; each has got another one",
        strays.len()
    );
    Ok(())
}
