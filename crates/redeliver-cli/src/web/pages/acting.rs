//! Somebody does something: who, why, and whether they know what they do it to.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{FromRequest, Request},
    http::{StatusCode, header},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response},
};
use redeliver_outbox::{
    Timestamp,
    desk::{Act, Detail},
};

use super::{
    address,
    audit::Deed,
    fields::Fields,
    frame::{Frame, MESSAGES, NAME, Visitor, Wrong, shown},
    message,
    words::Chip,
};
use crate::web::{guard::sentence, problem::Problem, site::Site};

/// A form that was sent by somebody who may do what it says.
#[derive(Debug)]
pub(super) struct Acting {
    pub(super) visitor: Visitor,
    pub(super) fields: Fields,
}

impl FromRequest<Arc<Site>> for Acting {
    type Rejection = Wrong;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Wrong> {
        let (mut parts, body) = request.into_parts();
        let visitor =
            <Visitor as axum::extract::FromRequestParts<_>>::from_request_parts(&mut parts, site).await?;
        // The guard refuses too; a route that it does not know of must not be a way around it.
        if !visitor.caller.may_operate() {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this token may look, and not change anything",
            )
            .into());
        }
        let form = String::from_request(Request::from_parts(parts, body), site).await;
        let form = form.map_err(|refused| {
            Problem::new(
                refused.status(),
                format!("the form could not be read: {}", refused.body_text()),
            )
        })?;
        let fields = Fields::of(&form);
        for name in ["who", "why"] {
            sentence(name, fields.get(name))?;
        }
        Ok(Self { visitor, fields })
    }
}

impl Acting {
    /// Who does it and why, for the audit trail.
    pub(super) fn act(&self) -> Act {
        let given = self.fields.get("who").unwrap_or(&self.visitor.name);
        Act {
            who: self.visitor.caller.who(Some(given)),
            why: self.why().to_owned(),
        }
    }

    pub(super) fn why(&self) -> &str {
        self.fields.get("why").unwrap_or_default()
    }

    /// The same where a reason is required.
    pub(super) fn act_with_reason(&self) -> Result<Act, Problem> {
        match self.why() {
            "" => Err(Problem::bad_request(
                "say why, for whoever asks later: go back and give a reason",
            )),
            _ => Ok(self.act()),
        }
    }

    /// To the page that tells what was done. Whoever gave a name need not give it again.
    pub(super) fn went(&self, to: &str) -> Response {
        let to = Redirect::to(to);
        match self.fields.get("who") {
            Some(name) if self.visitor.caller.name.is_none() => {
                let name: String = name.chars().take(80).collect();
                let cookie = format!(
                    "{NAME}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000",
                    address::encoded(&name)
                );
                (AppendHeaders([(header::SET_COOKIE, cookie)]), to).into_response()
            }
            _ => to.into_response(),
        }
    }
}

/// How a message was when somebody looked at it: whatever an operator does to it, and every redrive, makes it another.
pub(super) fn version(detail: &Detail) -> String {
    let record = &detail.record;
    format!("{}.{}.{}", record.status, record.redrives, newest_act(detail))
}

/// By its number: how many there are falls when old ones are forgotten.
fn newest_act(detail: &Detail) -> i64 {
    detail.audit.last().map_or(0, |act| act.number)
}

#[derive(Debug, Template)]
#[template(path = "stale.html")]
struct Stale {
    frame: Frame,
    href: String,
    number: i64,
    chip: Chip,
    deeds: Vec<Deed>,
}

/// The page that says what happened to a message since somebody looked; none if nothing did.
pub(super) fn stale(acting: &Acting, site: &Site, detail: &Detail) -> Option<Response> {
    let seen = acting.fields.get("seen").unwrap_or_default();
    if seen == version(detail) {
        return None;
    }
    let acts_seen = seen
        .rsplit('.')
        .next()
        .and_then(|acts| acts.parse().ok())
        .unwrap_or(0);
    let now = Timestamp::wall();
    let since = detail.audit.iter().filter(|act| act.number > acts_seen);
    let page = Stale {
        frame: Frame::new("It has changed", MESSAGES, site, &acting.visitor),
        href: message::address(detail.record.id),
        number: detail.record.id.number(),
        chip: Chip::of(detail.record.status),
        deeds: since.map(|act| Deed::of(act, now)).collect(),
    };
    Some(shown(StatusCode::CONFLICT, &page))
}
