//! What an operator looks at.

use std::time::Duration;

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    DeadReason, Fingerprint,
    desk::{Desk, Filter, MessageRef, Page},
    state::Status,
};

use crate::Outcome;

/// A search's time: what a page may take.
const BUDGET: Duration = Duration::from_millis(80);

type Told<'a> = BoxFuture<'a, Outcome<String>>;
type Way = dyn for<'a> Fn(&'a dyn Desk) -> Told<'a>;

/// One way to look, and what it tells in short.
pub(crate) struct Look {
    pub(crate) name: &'static str,
    pub(crate) look: Box<Way>,
}

fn look(name: &'static str, look: impl for<'a> Fn(&'a dyn Desk) -> Told<'a> + 'static) -> Look {
    Look {
        name,
        look: Box::new(look),
    }
}

const NEWEST: Page = Page {
    after: None,
    until: None,
    limit: 50,
    newest_first: true,
};

pub(crate) fn looks(rows: i64) -> Vec<Look> {
    let mut looks = figures();
    looks.extend(issues());
    for (name, number) in [
        ("find, the newest live", rows * 21 / 10),
        ("find, a sent one", rows),
        ("find, a dead letter", rows / 11 * 11),
    ] {
        looks.push(look(name, move |desk| {
            Box::pin(async move {
                let found = desk.find(MessageRef::Number(number)).await?;
                Ok(found.map_or("nothing".to_owned(), |detail| detail.record.status.to_string()))
            })
        }));
    }
    looks.extend(pages());
    for (name, filter) in filters(rows) {
        looks.push(look(name, move |desk| {
            let filter = filter.clone();
            Box::pin(async move {
                let found = desk.search(&filter, NEWEST, BUDGET).await?;
                let end = if found.complete { "complete" } else { "goes on" };
                Ok(format!("{} found, {end}", found.records.len()))
            })
        }));
    }
    looks
}

fn figures() -> Vec<Look> {
    vec![
        look("pulse", |desk| {
            Box::pin(async move { Ok(format!("{} shards", desk.pulse().await?.shards)) })
        }),
        look("sequence", |desk| {
            Box::pin(async move { Ok(desk.sequence().await?.to_string()) })
        }),
        look("status", |desk| {
            Box::pin(async move { Ok(format!("{} due", desk.status().await?.total.due_now)) })
        }),
        look("outlook", |desk| {
            Box::pin(async move {
                Ok(format!(
                    "{} scheduled",
                    desk.outlook().await?.buckets.iter().sum::<u64>()
                ))
            })
        }),
        look("lanes, 50", |desk| {
            Box::pin(async move { Ok(format!("{} stand", desk.lanes(50).await?.len())) })
        }),
        look("storage", |desk| {
            Box::pin(async move {
                let bytes = desk.storage().await?.database_bytes.unwrap_or(0);
                Ok(format!("{} MB", bytes >> 20))
            })
        }),
        look("audit_page, 50", |desk| {
            Box::pin(async move { Ok(format!("{} acts", desk.audit_page(None, 50).await?.len())) })
        }),
    ]
}

fn issues() -> Vec<Look> {
    vec![
        look("issues, 50", |desk| {
            Box::pin(async move { Ok(format!("{} issues", desk.issues(50).await?.len())) })
        }),
        look("issue", |desk| {
            Box::pin(async move {
                let found = desk.issue(Fingerprint::from_column("0000000000000007")).await?;
                Ok(format!("{} letters", found.map_or(0, |found| found.issue.count)))
            })
        }),
        look("count, an issue", |desk| {
            Box::pin(async move { Ok(desk.count(&issue()).await?.to_string()) })
        }),
        look("count, all dead letters", |desk| {
            Box::pin(async move { Ok(desk.count(&with(Status::DeadLettered)).await?.to_string()) })
        }),
        look("count, everything", |desk| {
            Box::pin(async move { Ok(desk.count(&Filter::default()).await?.to_string()) })
        }),
    ]
}

fn pages() -> Vec<Look> {
    let list = |name, newest_first, statuses: &'static [Status]| {
        look(name, move |desk| {
            Box::pin(async move {
                let filter = Filter {
                    statuses: statuses.to_vec(),
                    ..Filter::default()
                };
                let page = Page {
                    newest_first,
                    ..NEWEST
                };
                Ok(format!("{} found", desk.list(&filter, page, false).await?.len()))
            })
        })
    };
    vec![
        list("list, newest", true, &[]),
        list("list, oldest", false, &[]),
        list("list, newest dead letters", true, &[Status::DeadLettered]),
        list("list, newest sent", true, &[Status::Sent]),
        list("list, newest failed", true, &[Status::Failed]),
    ]
}

fn with(status: Status) -> Filter {
    Filter {
        statuses: vec![status],
        ..Filter::default()
    }
}

fn issue() -> Filter {
    Filter {
        issue: Some(Fingerprint::from_column("0000000000000007")),
        ..with(Status::DeadLettered)
    }
}

fn filters(rows: i64) -> Vec<(&'static str, Filter)> {
    let text = |text: &str| Filter {
        text: Some(text.to_owned()),
        ..Filter::default()
    };
    let all = Filter::default;
    vec![
        ("search, newest", all()),
        ("search, failed", with(Status::Failed)),
        ("search, dead letters", with(Status::DeadLettered)),
        ("search, an issue", issue()),
        (
            "search, a reason",
            Filter {
                reason: Some(DeadReason::Permanent),
                ..all()
            },
        ),
        (
            "search, to a destination",
            Filter {
                destination: Some("destination-3".to_owned()),
                ..all()
            },
        ),
        (
            "search, a key",
            Filter {
                key: Some("order-78".to_owned()),
                ..all()
            },
        ),
        (
            "search, an error of dead letters",
            Filter {
                error: Some("RULE C".to_owned()),
                ..with(Status::DeadLettered)
            },
        ),
        (
            "search, an error that nobody met",
            Filter {
                error: Some("no such error".to_owned()),
                ..all()
            },
        ),
        ("search, a number", text(&rows.to_string())),
        ("search, a key's text", text("order-78")),
        ("search, a text that nobody wrote", text("no such text")),
    ]
}
