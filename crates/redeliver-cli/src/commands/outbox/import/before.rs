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
    #[serde(default)]
    ended: bool,
    /// When it was written.
    #[serde(skip)]
    at: Timestamp,
}

impl Entry {
    /// Whether no row behind its place may have been imported and forgotten by now.
    fn is_safe(&self, now: Timestamp) -> bool {
        self.ended || now.since(self.at) < limits::DEDUPLICATION_RETENTION
    }
}

/// What the runs so far did.
#[derive(Debug, Default)]
struct Before {
    /// When the first of them began.
    first: Option<Timestamp>,
    /// The newest entry that tells how far one of them came.
    last: Option<Entry>,
}

impl Before {
    /// Takes in an entry that is older than those so far.
    fn add(&mut self, entry: Entry) {
        let began = entry.began_at.parse().ok();
        self.first = self.first.into_iter().chain(began).min();
        self.last = self.last.take().or(entry.up_to.is_some().then_some(entry));
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
            .filter_map(|act| {
                let entry: Entry = serde_json::from_str(&act.detail).ok()?;
                Some(Entry { at: act.at, ..entry })
            })
            .filter(|entry| entry.import == name)
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
    let kept = duration::display(limits::DEDUPLICATION_RETENTION);
    let next = match &before.last {
        Some(last) if last.is_safe(now) => {
            let place = last.up_to.as_deref().unwrap_or_default();
            format!("go on behind them with --after {}", argument(place))
        }
        Some(last) => format!(
            "the last run was cut off after {}, and what it inserted behind {} is forgotten: find the last row that became a message, and \
             go on behind it with --after VALUE",
            last.at,
            argument(last.up_to.as_deref().unwrap_or_default())
        ),
        None => "go on behind them with --after VALUE".to_owned(),
    };
    Some(BadInput(format!(
        "{name}: rows have been imported since {first}, and are known again for {kept} only: {next}, or, if where leaves out what was \
         imported, use --from-the-beginning"
    )))
}

/// A place as a shell takes it, whole: a part of it would be another place.
fn argument(place: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.:/@,%+=".contains(character);
    let shown = readable::line(place, usize::MAX);
    match !shown.is_empty() && shown.chars().all(is_plain) {
        true => shown,
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    }
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
            ended: true,
            at: began_at.parse().unwrap(),
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

    /// One run that began on day 0 and was killed, with its last entry on this day.
    #[test]
    fn only_a_place_behind_which_everything_is_known_is_offered() {
        let began_at = "2026-11-01T10:00:00.000Z";
        let first: Timestamp = began_at.parse().unwrap();
        let after = |days: u64| first.plus(Duration::from_secs(days * 86_400));
        let refused = |recorded: u64, ended: bool| {
            let entry = Entry {
                import: "shop".to_owned(),
                began_at: began_at.to_owned(),
                up_to: Some("500".to_owned()),
                ended,
                at: after(recorded),
            };
            let mut before = Before::default();
            before.add(entry);
            forgotten("shop", &before, after(9)).unwrap().to_string()
        };
        assert!(refused(8, false).contains("--after 500"));
        assert!(refused(0, true).contains("--after 500"));
        let cut_off = refused(0, false);
        assert!(!cut_off.contains("--after 500"), "{cut_off}");
        assert!(
            cut_off.contains("what it inserted behind 500 is forgotten"),
            "{cut_off}"
        );
    }

    #[test]
    fn a_place_is_told_whole_as_a_shell_takes_it() {
        let long = "x".repeat(300);
        for (place, told) in [
            ("text:a%20%20b", "text:a%20%20b"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            (&long, &long),
        ] {
            assert_eq!(argument(place), told);
        }
    }
}
