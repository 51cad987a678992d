//! Dead letters that are older than consumers remember ids.

use std::time::Duration;

use redeliver::duration;
use redeliver_outbox::{
    Timestamp,
    desk::{Desk, Filter},
    store,
};

/// What to know before dead letters are redriven, if any of them was attempted and is older than inboxes keep ids (`kept`).
pub(crate) async fn forgotten_warning(
    desk: &dyn Desk,
    filter: &Filter,
    kept: Option<Duration>,
    now: Timestamp,
) -> store::Result<Option<String>> {
    let Some(kept) = kept else {
        return Ok(None);
    };
    let before = now.minus(kept);
    let old = Filter {
        created_before: Some(filter.created_before.map_or(before, |given| given.min(before))),
        attempts_from: Some(filter.attempts_from.unwrap_or_default().max(1)),
        ..filter.clone()
    };
    let count = desk.count(&old).await?;
    Ok((count > 0).then(|| warning(count, kept)))
}

fn warning(count: u64, kept: Duration) -> String {
    let letters = match count {
        1 => "1 dead letter was".to_owned(),
        many => format!("{many} dead letters were"),
    };
    format!(
        "{letters} attempted, and inserted more than {} ago: an inbox elsewhere may have forgotten the id by now ([retention] inbox). \
         A consumer that took the message then may process it a second time.",
        duration::display(kept)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_says_how_many_and_after_how_long() {
        let week = Duration::from_secs(7 * 24 * 3_600);
        assert!(warning(1, week).starts_with("1 dead letter was attempted, and inserted more than 7d ago"));
        assert!(warning(2, week).starts_with("2 dead letters were attempted"));
    }
}
