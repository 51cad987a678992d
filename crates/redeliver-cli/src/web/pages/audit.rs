//! What people and workers did, the newest first.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver::clock;
use redeliver_outbox::{Timestamp, desk::AuditRecord, limits::AUDIT_BATCH};

use super::{
    fields::Fields,
    frame::{AUDIT, Answered, Frame, Visitor, page as answer, shown},
    message,
    words::{When, counted},
};
use crate::{
    readable,
    web::{bounded, site::Site},
};

/// How many stand on the page.
const SHOWN: usize = 100;

/// One act.
#[derive(Debug)]
pub(super) struct Deed {
    pub(super) at: When,
    pub(super) who: String,
    pub(super) action: String,
    /// The number of the message, and its page.
    pub(super) message: Option<(i64, String)>,
    pub(super) why: String,
    pub(super) detail: String,
    pub(super) number: i64,
    /// The beginning of what seals it, and all of it.
    pub(super) seal: Option<(String, String)>,
}

impl Deed {
    pub(super) fn of(act: &AuditRecord, now: Timestamp) -> Self {
        Self {
            at: When::of(act.at, now),
            who: readable::line(&act.who, 80),
            action: readable::line(&act.action, 40).replace('_', " "),
            message: act.message.map(|id| (id.number(), message::address(id))),
            why: readable::line(&act.why, 400),
            detail: readable::line(&act.detail, 400),
            number: act.number,
            seal: act
                .hash
                .as_ref()
                .map(|hash| (hash.chars().take(8).collect(), hash.clone())),
        }
    }
}

#[derive(Debug, Template)]
#[template(path = "audit.html", blocks = ["live"])]
struct Audit {
    frame: Frame,
    deeds: Vec<Deed>,
    older: Option<String>,
    newest: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    let before = query.get("before").and_then(|number| number.parse().ok());
    let (acts, more) = bounded::acts(&*site.desk, before, SHOWN).await?;
    let now = Timestamp::wall();
    let last = acts.last().filter(|_| more);
    let audit = Audit {
        frame: Frame::new("Audit", AUDIT, &site, &visitor),
        older: last.map(|act| format!("/audit?before={}", act.number)),
        newest: before.is_none(),
        deeds: acts.iter().map(|act| Deed::of(act, now)).collect(),
    };
    Ok(answer(&visitor, &audit, &audit.as_live()))
}

/// How long a look through the chain may take before it is left to the command.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Template)]
#[template(path = "verified.html")]
struct Verified {
    frame: Frame,
    entries: String,
    older: u64,
    head: String,
    broken: Option<String>,
    /// Whether all of it was looked at.
    whole: bool,
}

/// Looks whether the chain holds, for as long as somebody would wait.
pub(super) async fn verify(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let begun = clock::now();
    let mut verified = Verified {
        frame: Frame::new("The chain of the audit trail", AUDIT, &site, &visitor),
        entries: String::new(),
        older: 0,
        head: String::new(),
        broken: None,
        whole: false,
    };
    let (mut entries, mut after) = (0, None);
    loop {
        let step = site.desk.verify_audit(after, AUDIT_BATCH).await?;
        entries += step.fit.len() as u64;
        verified.older += step.older;
        verified.head = step.head.map_or(String::new(), |head| head.hash);
        verified.broken = step.broken.map(|broken| broken.to_string());
        after = step.next;
        verified.whole = after.is_none();
        if verified.whole || clock::now().since(begun) > PATIENCE {
            break;
        }
    }
    verified.entries = counted(entries, "entry", "entries");
    Ok(shown(StatusCode::OK, &verified))
}
