//! What comes due within a day.

use redeliver_outbox::desk::Outlook;

use super::{
    picture::Columns,
    words::{counted, freshness, grouped},
};
use crate::web::sampled::Counted;

/// What comes due, drawn.
#[derive(Debug)]
pub(super) struct Coming {
    pub(super) columns: Columns,
    pub(super) words: String,
    pub(super) freshness: String,
    pub(super) none: bool,
}

/// How many buckets an hour has.
const AN_HOUR: usize = 4;
/// How many buckets stand in one column: half an hour.
const A_COLUMN: usize = 2;

impl Coming {
    pub(super) fn of(outlook: &Counted<Outlook>) -> Self {
        let freshness = freshness(outlook);
        let outlook = &*outlook.value;
        let columns = outlook
            .buckets
            .chunks(A_COLUMN)
            .enumerate()
            .map(|(place, chunk)| {
                let minutes = place * A_COLUMN * 15;
                let label = format!(
                    "in {}h {:02}m to {}h {:02}m",
                    minutes / 60,
                    minutes % 60,
                    (minutes + 30) / 60,
                    (minutes + 30) % 60
                );
                (label, chunk.iter().sum())
            });
        let all: u64 = outlook.buckets.iter().sum();
        let hour: u64 = outlook.buckets.iter().take(AN_HOUR).sum();
        let mut words = format!(
            "{} within the hour, {} within the day",
            grouped(hour),
            grouped(all)
        );
        for (count, what) in [
            (outlook.overdue, "overdue"),
            (outlook.beyond, "later"),
            (outlook.put_away, "put away"),
        ] {
            if count > 0 {
                words.push_str(&format!(", {} {what}", grouped(count)));
            }
        }
        Self {
            columns: Columns::new(
                format!(
                    "{} within the next 24 hours, by half hours",
                    counted(all, "message comes due", "messages come due")
                ),
                columns.collect(),
            ),
            words,
            freshness,
            none: all == 0,
        }
    }
}
