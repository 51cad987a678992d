//! What is done to many dead letters: which, how many, a sample, and only then.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver_outbox::{
    Timestamp,
    desk::{Filter, NewJob, Page},
    job::{JobKind, JobPlan},
};

use super::{
    acting::Acting,
    done::Done,
    fields::Fields,
    frame::{Answered, Frame, ISSUES, Visitor, shown},
    jobs,
    messages::Row,
    narrowing::Narrowing,
    words::{counted, grouped},
};
use crate::{
    readable,
    web::{problem::Problem, site::Site},
};

/// So many that were chosen by hand are changed at once; more are a job.
const AT_ONCE: u64 = 100;
/// So many are shown before something is done to all.
const SAMPLE: usize = 5;

#[derive(Debug, Template)]
#[template(path = "letters.html")]
struct Letters {
    frame: Frame,
    /// `redrive` or `discard`.
    act: &'static str,
    title: &'static str,
    sentence: &'static str,
    button: String,
    count: u64,
    letters: String,
    chosen: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
    rows: Vec<Row>,
    more: Option<String>,
    reason_required: bool,
    warning: Option<String>,
    /// How carefully it goes, if it is a job.
    plan: Option<Plan>,
    back: String,
}

/// What stands in the fields of a plan.
#[derive(Debug)]
struct Plan {
    canary: u32,
    factor: u32,
    interval: u64,
    stop_percent: u16,
}

impl Plan {
    fn usual() -> Self {
        let plan = JobPlan::default();
        Self {
            canary: plan.canary,
            factor: plan.factor,
            interval: plan.interval.as_secs(),
            stop_percent: plan.stop_permille / 10,
        }
    }
}

/// The plan that a form asks for.
fn planned(fields: &Fields) -> Result<JobPlan, Problem> {
    let number = |name: &str, usual: u64| match fields.get(name) {
        None => Ok(usual),
        Some(text) => text.parse::<u64>().map_err(|_| {
            let text = readable::line(text, 40);
            Problem::bad_request(format!(
                "nothing was done: {name} must be a whole number, and {text} is none"
            ))
        }),
    };
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let usual = Plan::usual();
    let plan = JobPlan {
        canary: small(number("canary", usual.canary.into())?),
        factor: small(number("factor", usual.factor.into())?),
        interval: Duration::from_secs(number("interval", usual.interval)?),
        stop_permille: u16::try_from(number("stop", usual.stop_percent.into())?.saturating_mul(10))
            .unwrap_or(u16::MAX),
    };
    plan.validate()
        .map_err(|wrong| Problem::bad_request(format!("nothing was done: {wrong}")))?;
    Ok(plan)
}

/// What can be done to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Redrive,
    Discard,
}

pub(super) async fn ask_redrive(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    ask(&site, &visitor, &query, Deed::Redrive).await
}

pub(super) async fn ask_discard(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    ask(&site, &visitor, &query, Deed::Discard).await
}

/// What was chosen. Something that is not understood must not come to mean all.
pub(super) fn chosen(fields: &Fields) -> Result<Narrowing, Problem> {
    let narrowing = Narrowing::of(fields);
    match (narrowing.wrong.first(), narrowing.not_dead()) {
        (Some(wrong), _) => Err(Problem::bad_request(format!("nothing was done: {wrong}"))),
        (_, Some(status)) => Err(Problem::bad_request(format!(
            "nothing was done: this is for dead letters, and the list is of those that are {status}; take the status out of it"
        ))),
        _ if narrowing.is_empty() => Err(Problem::bad_request(
            "which dead letters? Choose some in the list, or narrow it; to mean all of them, narrow it by their status",
        )),
        _ => Ok(narrowing),
    }
}

async fn ask(site: &Site, visitor: &Visitor, query: &Fields, deed: Deed) -> Answered {
    let narrowing = chosen(query)?;
    // What dies while somebody thinks about it is not what they saw, and what "two hours ago" meant is kept, too.
    let filter = Filter {
        died_by: Some(site.desk.pulse().await?.now),
        ..narrowing.dead()
    };
    let count = site.desk.count(&filter).await?;
    let look = Page {
        after: None,
        limit: SAMPLE,
        newest_first: false,
        until: None,
    };
    let records = site.desk.list(&filter, look, false).await?;
    let now = Timestamp::wall();
    let letters = counted(count, "dead letter", "dead letters");
    let page = Letters {
        frame: Frame::new(deed.title(), ISSUES, site, visitor),
        act: deed.word(),
        title: deed.title(),
        sentence: deed.sentence(),
        button: format!("{} {letters}", deed.verb()),
        count,
        letters,
        chosen: narrowing.chosen("/messages"),
        pairs: Narrowing::of_filter(&filter).pairs().to_vec(),
        more: count
            .checked_sub(records.len() as u64)
            .filter(|more| *more > 0)
            .map(grouped),
        rows: records.iter().map(|record| Row::of(record, now)).collect(),
        reason_required: deed == Deed::Discard,
        warning: match deed {
            Deed::Redrive => site.forgotten_warning(&filter).await?,
            Deed::Discard => None,
        },
        plan: (deed == Deed::Redrive && is_job(&filter, count)).then(Plan::usual),
        back: narrowing.address("/messages"),
    };
    Ok(shown(StatusCode::OK, &page))
}

/// Few that were chosen one by one are changed at once. All else goes on by itself, with care.
fn is_job(filter: &Filter, count: u64) -> bool {
    filter.messages.is_empty() || count > AT_ONCE
}

impl Deed {
    const fn kind(self) -> JobKind {
        match self {
            Self::Redrive => JobKind::Redrive,
            Self::Discard => JobKind::Discard,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Redrive => "Redrive",
            Self::Discard => "Discard",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Redrive => "Redrive dead letters",
            Self::Discard => "Discard dead letters",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Redrive => {
                "They are put back: pending, no attempts, due now. A parked lane goes on with them."
            }
            Self::Discard => {
                "They are given up. Their rows stay, marked, until their retention is over; a parked lane goes on without them."
            }
        }
    }
}

pub(super) async fn redrive(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    act(&site, &acting, Deed::Redrive).await
}

pub(super) async fn discard(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    act(&site, &acting, Deed::Discard).await
}

/// What was confirmed, and no more: what died meanwhile was not looked at.
async fn act(site: &Site, acting: &Acting, deed: Deed) -> Answered {
    let filter = chosen(&acting.fields)?.dead();
    let act = match deed {
        Deed::Redrive => acting.act(),
        Deed::Discard => acting.act_with_reason()?,
    };
    let confirmed = acting
        .fields
        .get("confirmed")
        .and_then(|count| count.parse::<u64>().ok());
    let Some(confirmed) = confirmed else {
        let detail = "nothing was done: the form does not say how many were confirmed";
        return Err(Problem::bad_request(detail).into());
    };
    if filter.died_by.is_none() {
        let detail = "nothing was done: the form does not say when the dead letters were looked at";
        return Err(Problem::bad_request(detail).into());
    }
    if is_job(&filter, confirmed) {
        let job = NewJob {
            kind: deed.kind(),
            filter,
            at_most: Some(confirmed),
            plan: match deed {
                Deed::Redrive => planned(&acting.fields)?,
                Deed::Discard => JobPlan::AT_ONCE,
            },
        };
        let job = site.desk.create_job(&job, &act).await?;
        return Ok(acting.went(&Done::Started.at(&jobs::address(job.id), 1)));
    }
    let at_most = usize::try_from(confirmed).unwrap_or(usize::MAX);
    let (done, told) = match deed {
        Deed::Redrive => (site.desk.redrive(&filter, at_most, &act).await?, Done::Redriven),
        Deed::Discard => (site.desk.discard(&filter, at_most, &act).await?, Done::Discarded),
    };
    Ok(acting.went(&told.at("/issues", done.len() as u64)))
}
