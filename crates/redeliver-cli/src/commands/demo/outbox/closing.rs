//! The end of the story: the figures, whether they agree, and what to do next.

use std::collections::BTreeSet;

use redeliver_outbox::desk::Figures;
use serde_json::{Value, json};

use super::{
    super::{shop::Shop, stage::Stage},
    story::Tally,
};
use crate::table::table;

/// The shop's, the relay's, the database's and the API's figures.
pub(super) struct Closing {
    tally: Tally,
    committed: u64,
    stored: Figures,
    in_flight: u64,
    charged: u64,
    requests: u64,
    /// Ids that the API heard of and that were never committed.
    strangers: u64,
    early: u64,
}

impl Closing {
    pub(super) async fn of(stage: &Stage, shop: &Shop, tally: Tally, early: u64) -> anyhow::Result<Self> {
        let report = stage.opened.desk.status().await?;
        let stats = stage.server.stats();
        let committed: BTreeSet<String> = shop.committed().map(|id| id.to_string()).collect();
        let heard = stats.idempotency_keys.keys();
        Ok(Self {
            tally,
            committed: committed.len() as u64,
            stored: report.total,
            in_flight: report.in_flight,
            charged: stats.payments.authorized,
            requests: stats.requests,
            strangers: heard.filter(|id| !committed.contains(*id)).count() as u64,
            early,
        })
    }

    const fn live(&self) -> u64 {
        self.stored.due_now + self.stored.waiting + self.stored.put_away + self.stored.parked
    }

    /// That nothing was lost, invented, charged twice or early. Half a story has messages on their way.
    pub(super) fn check(&self, whole: bool) -> anyhow::Result<()> {
        let (sent, dead, live) = (self.stored.sent, self.stored.dead, self.live());
        let rules = [
            (
                sent + dead + live == self.committed,
                "an order that was committed is missing",
            ),
            (self.strangers == 0, "an order that was rolled back was sent"),
            (self.early == 0, "an attempt was made before it was due"),
            (self.charged >= sent, "an order counts as sent that never arrived"),
            (!whole || live == 0, "an order is still on its way"),
            (
                !whole || self.charged == sent,
                "an order was charged that does not count as sent",
            ),
            (!whole || self.tally.rescued > 0, "nothing was rescued"),
        ];
        match rules.iter().find(|(kept, _)| !kept) {
            Some((_, broken)) => anyhow::bail!("the figures do not agree: {broken}"),
            None => Ok(()),
        }
    }

    pub(super) fn value(&self, whole: bool, stage: &Stage) -> Value {
        json!({
            "whole": whole,
            "database": stage.database(),
            "kept": stage.kept(),
            "orders": {
                "committed": self.committed,
                "rolled_back": self.tally.rolled_back,
                "sent": self.stored.sent,
                "dead": self.stored.dead,
                "live": self.live(),
                "in_flight": self.in_flight,
            },
            "attempts": {
                "made": self.tally.attempts,
                "retried": self.tally.retried,
                "early": self.early,
            },
            "dead_letters": {
                "quarantined": self.tally.quarantined,
                "rescued": self.tally.rescued,
                "rescued_number": self.tally.rescue,
            },
            "api": {
                "requests": self.requests,
                "charged": self.charged,
                "never_committed": self.strangers,
            },
        })
    }

    pub(super) fn words(&self, elapsed: &str, stage: &Stage) -> String {
        let mut table = table(["what", "figure"], 1);
        for (what, figure) in [
            ("orders committed, each with its message", self.committed),
            ("  arrived", self.stored.sent),
            ("  charged by the API, each once", self.charged),
            ("  still on their way", self.live()),
            ("  dead letters", self.stored.dead),
            ("orders rolled back", self.tally.rolled_back),
            ("  of which the API ever heard", self.strangers),
            ("attempts", self.tally.attempts),
            (
                "  that failed and were made again by themselves",
                self.tally.retried,
            ),
            ("  made before they were due", self.early),
            ("messages quarantined", self.tally.quarantined),
            ("  rescued by a person", self.tally.rescued),
        ] {
            table.add_row([what.to_owned(), figure.to_string()]);
        }
        format!(
            "\nAfter {elapsed}:\n\n{}\n\nWhat to try next:\n{}",
            table.trim_fmt(),
            self.next(stage)
        )
    }

    fn next(&self, stage: &Stage) -> String {
        let Some(folder) = stage.kept() else {
            return "\
                \x20 redeliver demo --keep           leaves the outbox there, and says how to look into it\n\
                \x20 redeliver demo --exercise a     one of three exercises (a, b, c), each step checked against the database\n\
                \x20 redeliver demo --show call      a single call that is retried; --show stream: a stream that reconnects\n\
                \x20 redeliver send --to log --payload '{\"hello\":\"world\"}'\n\
                \x20 redeliver serve --until-empty   the same with an outbox of your own, in redeliver.db"
                .to_owned();
        };
        let database = stage.database();
        let rescued = self.tally.rescue.unwrap_or(1);
        format!(
            "\x20 export REDELIVER_DATABASE={database}\n\
             \x20 redeliver status\n\
             \x20 redeliver list --attempts-from 2   the orders that needed more than one attempt\n\
             \x20 redeliver show {rescued}                   the one that was rescued: attempts, payload then and now\n\
             \x20 redeliver why {rescued}\n\
             \x20 redeliver audit                    who did what, and why\n\
             \x20 rm -r {folder}"
        )
    }
}
