//! Who is writing, as far as the server tells.

use mysql_async::prelude::Queryable;

use super::{Work, segments::Listing};
use crate::{
    Timestamp,
    store::{Result, columns::Known as _},
};

/// What a question carries, and where it is found again in the list.
const STAMP: &str = "redeliver asks at ";

/// Who is writing; none if the server does not tell us.
pub(super) async fn listing(work: &mut Work<'_>) -> Result<Option<Listing>> {
    let now = server_time(work).await?;
    let stamp = format!("{STAMP}{:014}", now.as_millis());
    let sql = include_str!("sql/writers.sql").replace("{stamp}", &stamp);
    let rows: Vec<(Option<String>, Option<u64>)> = match work.transaction.query(sql).await {
        Ok(rows) => rows,
        // It takes the PROCESS privilege.
        Err(mysql_async::Error::Server(server)) if matches!(server.code, 1227 | 1142 | 1044) => {
            return Ok(None);
        }
        Err(error) => return Err(work.store.failed(error)),
    };
    let stamps = rows.iter().filter_map(|(query, _)| asked_at(query.as_deref()?));
    let filled_at = stamps.filter(|&at| at <= now).max().unwrap_or_default();
    let writers = rows.iter().filter_map(|&(_, writer)| writer).collect();
    Ok(Some(Listing { filled_at, writers }))
}

pub(super) async fn server_time(work: &mut Work<'_>) -> Result<Timestamp> {
    let row = work.row("SELECT UTC_TIMESTAMP(3)", ()).await?;
    row.map_or_else(|| Ok(Timestamp::default()), |mut row| row.known_time())
}

fn asked_at(query: &str) -> Option<Timestamp> {
    let (_, stamp) = query.split_once(STAMP)?;
    stamp.get(..14)?.parse().ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_the_list_tells_when_it_was_asked() {
        let query = include_str!("sql/writers.sql").replace("{stamp}", "redeliver asks at 01794787200123");
        assert_eq!(asked_at(&query), Some(Timestamp::from_millis(1_794_787_200_123)));
        for other in [
            "",
            "SELECT 1",
            "redeliver asks at ",
            "redeliver asks at x1794787200123",
            "redeliver asks at 1é",
        ] {
            assert_eq!(asked_at(other), None, "{other}");
        }
    }
}
