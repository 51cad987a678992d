//! What people and workers did, the newest first.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{Timestamp, desk::AuditRecord};

use super::{
    frame::{AUDIT, Answered, Frame, Visitor, page as answer},
    message,
    words::When,
};
use crate::{readable, web::site::Site};

/// How many stand on the page.
const SHOWN: usize = 200;

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
        }
    }
}

#[derive(Debug, Template)]
#[template(path = "audit.html", blocks = ["live"])]
struct Audit {
    frame: Frame,
    deeds: Vec<Deed>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let acts = site.desk.audit(SHOWN).await?;
    let now = Timestamp::wall();
    let audit = Audit {
        frame: Frame::new("Audit", AUDIT, &site, &visitor),
        deeds: acts.iter().map(|act| Deed::of(act, now)).collect(),
    };
    Ok(answer(&visitor, &audit, &audit.as_live()))
}
