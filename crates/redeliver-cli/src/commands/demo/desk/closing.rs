//! The last words: what became of everything, by destination, whether it agrees, and what to do next.

use std::path::Path;

use redeliver_outbox::live::LiveState;
use serde_json::{Value, json};

use super::{
    account::Account,
    heard::Heard,
    news::News,
    producer::Written,
    setting::{self, PARTS},
};
use crate::{readable, table::table};

/// All sides' figures.
pub(super) struct Closing {
    pub(super) account: Account,
    pub(super) news: News,
    pub(super) heard: Heard,
    pub(super) written: Written,
    pub(super) elapsed: String,
    /// The address of the API.
    pub(super) api: std::net::SocketAddr,
    /// Where everything is, if it stays.
    pub(super) kept: Option<String>,
}

impl Closing {
    /// That nothing was lost, invented or early.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match self.account.broken() {
            Some(broken) => anyhow::bail!("the figures do not agree: {broken}"),
            None => Ok(()),
        }
    }

    /// The destinations with messages, ours first.
    fn names(&self) -> impl Iterator<Item = &str> {
        let ours = PARTS.iter().map(|part| part.name);
        let others = self.account.tallies.keys().map(String::as_str);
        ours.chain(others.filter(|name| PARTS.iter().all(|part| part.name != *name)))
    }

    pub(super) fn value(&self, database: &str, config: &Path) -> Value {
        let account = &self.account;
        let destinations = self.names().map(|name| (name.to_owned(), self.of(name)));
        let issues = self.news.issues.iter().map(|(fingerprint, issue)| {
            json!({
                "issue": fingerprint.to_string(),
                "destination": issue.destination,
                "reason": issue.reason.as_str(),
                "error": issue.error,
                "count": issue.count,
            })
        });
        json!({
            "held": account.broken().is_none(),
            "broken": account.broken(),
            "database": database,
            "config": config.display().to_string(),
            "kept": self.kept,
            "orders": { "committed": self.written.orders, "rolled_back": self.written.orders_rolled_back },
            "messages": {
                "committed": account.committed,
                "sent": account.sent,
                "dead": account.dead,
                "live": account.live,
                "events_waiting": account.events_waiting,
                "of_others": account.others,
            },
            "rolled_back": { "stored": account.ghosts, "heard_by_the_api": account.ghosts_heard },
            "early": account.early,
            "never_taken": account.never_taken,
            "requests_not_followed": self.heard.missed,
            "issues": issues.collect::<Vec<_>>(),
            "destinations": destinations.collect::<serde_json::Map<_, _>>(),
        })
    }

    fn of(&self, name: &str) -> Value {
        let (tally, course) = (
            self.account.tallies.get(name).copied().unwrap_or_default(),
            self.news.course(name),
        );
        json!({
            "sent": tally.sent,
            "retries": course.again,
            "dead": tally.dead,
            "waiting": tally.live,
            "worst_lag_ms": u64::try_from(tally.worst_lag.as_millis()).unwrap_or(u64::MAX),
            "states": course.states.iter().map(|state| state.as_str()).collect::<Vec<_>>(),
            "attempts": course.attempts,
            "requests": self.heard.requests.get(name).copied().unwrap_or(0),
        })
    }

    pub(super) fn words(&self) -> String {
        let account = &self.account;
        let mut words = format!("\nAfter {}:\n\n{}\n\n", self.elapsed, self.table());
        let issues: Vec<String> = self
            .news
            .issues
            .values()
            .map(|issue| {
                let (count, to, reason) = (issue.count, &issue.destination, issue.reason);
                format!(
                    "  {count} × {to}, {reason}: {}\n",
                    readable::line(&issue.error, 100)
                )
            })
            .collect();
        if !issues.is_empty() {
            words.push_str(&format!(
                "Quarantined, by issue, each time that one was:\n{}\n",
                issues.concat()
            ));
        }
        let verdict = match account.broken() {
            None => "Nothing was lost, invented or early",
            Some(broken) => broken,
        };
        words.push_str(&format!(
            "{verdict}: {} messages committed = {} sent + {} dead + {} waiting; of {} orders that were rolled back the API heard {}; {} attempts \
             before they were due.\n",
            account.committed,
            account.sent,
            account.dead,
            account.live,
            self.written.orders_rolled_back,
            if account.ghosts_heard == 0 { "nothing".to_owned() } else { account.ghosts_heard.to_string() },
            account.early,
        ));
        if account.others > 0 {
            words.push_str(&format!(
                "Besides these, somebody else added {} messages meanwhile.\n",
                account.others
            ));
        }
        words.push_str(&format!("\nWhat to try next:\n{}", self.next()));
        words
    }

    fn table(&self) -> String {
        let header = [
            "destination",
            "states",
            "sent",
            "retries",
            "dead",
            "waiting",
            "worst lag",
            "requests",
        ];
        let mut table = table(header, 2);
        for name in self.names() {
            let (tally, course) = (
                self.account.tallies.get(name).copied().unwrap_or_default(),
                self.news.course(name),
            );
            let states: Vec<&str> = course
                .states
                .iter()
                .map(|state| LiveState::as_str(*state))
                .collect();
            table.add_row([
                readable::line(name, 40),
                states.join(", "),
                tally.sent.to_string(),
                course.again.to_string(),
                tally.dead.to_string(),
                tally.live.to_string(),
                readable::duration(tally.worst_lag),
                self.heard.requests.get(name).copied().unwrap_or(0).to_string(),
            ]);
        }
        table.trim_fmt()
    }

    fn next(&self) -> String {
        let Some(folder) = &self.kept else {
            return "\
                \x20 redeliver demo --keep           leaves the outbox and its redeliver.toml there, and says how to look into them\n\
                \x20 redeliver demo --show outbox    the same as a story: each order, each attempt, a dead letter rescued\n\
                \x20 redeliver demo --exercise a     one of three exercises (a, b, c), each step checked against the database\n\
                \x20 redeliver demo --show call      a single call that is retried; --show stream: a stream that reconnects\n\
                \x20 redeliver serve                 the same with an outbox and a redeliver.toml of your own"
                .to_owned();
        };
        format!(
            "\x20 cd {folder}     where every command finds the redeliver.toml\n{}\
             \x20 redeliver status\n\
             \x20 redeliver dead issues              the dead letters, by what is wrong with them\n\
             \x20 redeliver list --attempts-from 3   what needed more than two attempts\n\
             \x20 redeliver faulty --listen {}   the API again, where it was\n\
             \x20 redeliver serve                    the relay and the dashboard again\n\
             \x20 rm -r {folder}",
            setting::first(),
            self.api,
        )
    }
}
