//! What the same import did before.

use redeliver_outbox::{Timestamp, limits};
use redeliver_policy::duration;
use serde::Deserialize;

use crate::{commands::outbox::database::Outbox, exit::BadInput, readable};

/// How many of the newest acts are looked through.
const LOOKED_AT: usize = 1000;

/// An entry `import` of the audit trail, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Entry {
    import: String,
    began_at: String,
    up_to: Option<String>,
}

/// Refuses to read rows again that would not be known again.
pub(super) async fn check(name: &str, outbox: &Outbox) -> anyhow::Result<()> {
    let acts = outbox.desk().audit(LOOKED_AT).await;
    let acts = acts.map_err(|error| outbox.named(error.into()))?;
    // The newest first.
    let entries: Vec<Entry> = acts
        .iter()
        .filter(|act| act.action == "import" && act.message.is_none())
        .filter_map(|act| serde_json::from_str(&act.detail).ok())
        .filter(|entry: &Entry| entry.import == name)
        .collect();
    forgotten(name, &entries, Timestamp::wall()).map_or(Ok(()), |refusal| Err(refusal.into()))
}

fn forgotten(name: &str, entries: &[Entry], now: Timestamp) -> Option<BadInput> {
    let begun = entries.iter().filter_map(|entry| entry.began_at.parse().ok());
    let first: Timestamp = begun.min()?;
    if now.since(first) < limits::DEDUPLICATION_RETENTION {
        return None;
    }
    let last = entries.iter().find_map(|entry| entry.up_to.as_deref());
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
        let entries = [
            entry("2026-11-08T10:00:00.000Z", "20"),
            entry("2026-11-01T10:00:00.000Z", "10"),
        ];
        let first: Timestamp = "2026-11-01T10:00:00.000Z".parse().unwrap();
        let after = |days: u64| first.plus(Duration::from_secs(days * 86_400));
        assert!(forgotten("shop", &[], after(100)).is_none());
        assert!(forgotten("shop", &entries, after(6)).is_none());
        let refused = forgotten("shop", &entries, after(8)).unwrap().to_string();
        assert!(refused.contains("since 2026-11-01T10:00:00.000Z"), "{refused}");
        assert!(refused.contains("--after 20"), "{refused}");
    }
}
