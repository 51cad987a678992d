//! What the same import did before.

use redeliver_outbox::{Timestamp, limits};
use redeliver_policy::duration;
use serde::Deserialize;

use crate::{commands::outbox::database::Outbox, exit::BadInput, readable};

/// How many acts are looked through at a time: a redrive of many writes one a message, and the first import may be behind all of them.
const AT_A_TIME: usize = 1000;

/// An entry `import` of the audit trail, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Entry {
    import: String,
    began_at: String,
    up_to: Option<String>,
}

/// What the runs so far did.
#[derive(Debug, Default)]
struct Before {
    /// When the first of them began.
    first: Option<Timestamp>,
    /// How far the last of them came.
    up_to: Option<String>,
}

impl Before {
    /// Takes in an entry that is older than those so far.
    fn add(&mut self, entry: Entry) {
        let began = entry.began_at.parse().ok();
        self.first = self.first.into_iter().chain(began).min();
        self.up_to = self.up_to.take().or(entry.up_to);
    }
}

/// Refuses to read rows again that would not be known again.
pub(super) async fn check(name: &str, outbox: &Outbox) -> anyhow::Result<()> {
    let (mut before, mut page_before) = (Before::default(), None);
    loop {
        // Nothing of a message is looked at, and so nothing has to be hidden.
        let acts = outbox.revealed().audit_page(page_before, AT_A_TIME).await;
        let acts = acts.map_err(|error| outbox.named(error.into()))?;
        page_before = acts.last().map(|oldest| oldest.number);
        let is_last = acts.len() < AT_A_TIME;
        acts.iter()
            .filter(|act| act.action == "import" && act.message.is_none())
            .filter_map(|act| serde_json::from_str(&act.detail).ok())
            .filter(|entry: &Entry| entry.import == name)
            .for_each(|entry| before.add(entry));
        if is_last {
            break;
        }
    }
    forgotten(name, &before, Timestamp::wall()).map_or(Ok(()), |refusal| Err(refusal.into()))
}

fn forgotten(name: &str, before: &Before, now: Timestamp) -> Option<BadInput> {
    let first = before.first?;
    if now.since(first) < limits::DEDUPLICATION_RETENTION {
        return None;
    }
    let last = before.up_to.as_deref();
    let (last, kept) = (
        last.unwrap_or("VALUE"),
        duration::display(limits::DEDUPLICATION_RETENTION),
    );
    Some(BadInput(format!(
        "{name}: rows have been imported since {first}, and are known again for {kept} only: go on behind them with --after {}, or, if \
         where leaves out what was imported, use --from-the-beginning",
        readable::line(last, 80)
    )))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rows_that_are_no_longer_known_are_not_read_again() {
        let entry = |began_at: &str, up_to: &str| Entry {
            import: "shop".to_owned(),
            began_at: began_at.to_owned(),
            up_to: Some(up_to.to_owned()),
        };
        let mut before = Before::default();
        before.add(entry("2026-11-08T10:00:00.000Z", "20"));
        before.add(entry("2026-11-01T10:00:00.000Z", "10"));
        let first: Timestamp = "2026-11-01T10:00:00.000Z".parse().unwrap();
        let after = |days: u64| first.plus(Duration::from_secs(days * 86_400));
        assert!(forgotten("shop", &Before::default(), after(100)).is_none());
        assert!(forgotten("shop", &before, after(6)).is_none());
        let refused = forgotten("shop", &before, after(8)).unwrap().to_string();
        assert!(refused.contains("since 2026-11-01T10:00:00.000Z"), "{refused}");
        assert!(refused.contains("--after 20"), "{refused}");
    }
}
