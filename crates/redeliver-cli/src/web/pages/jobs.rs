//! Jobs: how far each is, and holding, going on and ending one.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use redeliver_outbox::{
    Timestamp,
    desk::Job,
    job::{JobKind, JobState},
};

use super::{
    acting::Acting,
    done::Done,
    frame::{Answered, Frame, JOBS, Visitor, page as answer},
    narrowing::Narrowing,
    picture::Shares,
    words::{Chip, When, grouped},
};
use crate::{
    readable,
    web::{problem::Problem, site::Site},
};

/// How many are shown, the newest first.
const SHOWN: usize = 50;

/// The page of a job.
pub(super) fn address(id: i64) -> String {
    format!("/jobs/{id}")
}

/// One job, as a row.
#[derive(Debug)]
struct Row {
    id: i64,
    href: String,
    kind: &'static str,
    chip: Chip,
    who: String,
    why: String,
    created: When,
    updated: When,
    matched: String,
    released: String,
    delivered: String,
    failing: String,
    failed: String,
    waiting: String,
    percent: String,
    shares: Shares,
    note: String,
    over: bool,
    paused: bool,
    stopped: bool,
    /// How many it let out before it was resumed after a stop, if it was.
    excused: Option<String>,
}

impl Row {
    fn of(job: &Job, now: Timestamp) -> Self {
        let tally = &job.tally;
        let discard = job.kind == JobKind::Discard;
        let decided = tally.delivered + tally.failed;
        let whole = tally.matched.max(tally.released);
        let arrived = if discard { "given up" } else { "arrived" };
        Self {
            id: job.id,
            href: address(job.id),
            kind: job.kind.as_str(),
            chip: chip(job.state),
            who: readable::line(&job.act.who, 80),
            why: readable::line(&job.act.why, 400),
            created: When::of(job.created_at, now),
            updated: When::of(job.updated_at, now),
            matched: grouped(tally.matched),
            released: grouped(tally.released),
            delivered: grouped(tally.delivered),
            failing: grouped(tally.failing),
            failed: grouped(tally.failed),
            waiting: grouped(tally.waiting()),
            percent: match whole {
                0 => "–".to_owned(),
                whole => format!("{}%", decided * 100 / whole),
            },
            shares: Shares::new(
                format!(
                    "Of {} dead letters {} {arrived}, {} fail and are tried again, {} died again, and nothing is known of {} yet",
                    grouped(tally.matched),
                    grouped(tally.delivered),
                    grouped(tally.failing),
                    grouped(tally.failed),
                    grouped(tally.waiting())
                ),
                vec![
                    ("good", arrived, tally.delivered),
                    ("bad", "died again", tally.failed),
                    ("warn", "fail, and are tried again", tally.failing),
                    ("busy", "on their way", tally.waiting()),
                ],
                whole,
            ),
            note: readable::line(&job.note, 400),
            over: job.state.is_over(),
            paused: job.state == JobState::Paused,
            stopped: job.state == JobState::Stopped,
            excused: Some(job.excused.tally.released)
                .filter(|released| *released > 0)
                .map(grouped),
        }
    }
}

const fn chip(state: JobState) -> Chip {
    match state {
        JobState::Canary => Chip::new("busy", "◔", "canary"),
        JobState::Ramping => Chip::new("busy", "↗", "ramping"),
        JobState::Paused => Chip::new("held", "‖", "paused"),
        JobState::Done => Chip::new("good", "✓", "done"),
        JobState::Stopped => Chip::new("bad", "✕", "stopped by itself"),
        JobState::Cancelled => Chip::new("calm", "⊘", "cancelled"),
        _ => Chip::new("calm", "?", "of a later version"),
    }
}

#[derive(Debug, Template)]
#[template(path = "jobs.html", blocks = ["live"])]
struct Jobs {
    frame: Frame,
    rows: Vec<Row>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let jobs = site.desk.jobs(SHOWN).await?;
    let now = Timestamp::wall();
    let page = Jobs {
        frame: Frame::new("Jobs", JOBS, &site, &visitor),
        rows: jobs.iter().map(|job| Row::of(job, now)).collect(),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

#[derive(Debug, Template)]
#[template(path = "job.html", blocks = ["live"])]
struct JobPage {
    frame: Frame,
    row: Row,
    chosen: Vec<(String, String)>,
    list: String,
    plan: Vec<(&'static str, String)>,
}

async fn found(site: &Site, name: &str) -> Result<Job, Problem> {
    let job = match name.parse() {
        Ok(id) => site.desk.job(id).await?,
        Err(_) => None,
    };
    job.ok_or_else(|| Problem::not_found(format!("there is no job {}", readable::line(name, 40))))
}

pub(super) async fn one(
    State(site): State<Arc<Site>>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Answered {
    let job = found(&site, &name).await?;
    let narrowing = Narrowing::of_filter(&job.filter);
    let page = JobPage {
        frame: Frame::new(format!("Job {}", job.id), JOBS, &site, &visitor),
        row: Row::of(&job, Timestamp::wall()),
        chosen: narrowing.chosen("/messages"),
        list: narrowing.address("/messages"),
        plan: plan(&job),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn plan(job: &Job) -> Vec<(&'static str, String)> {
    let plan = &job.plan;
    if plan.canary == 0 {
        return vec![("Plan", "all of them, in batches".to_owned())];
    }
    vec![
        (
            "Canary",
            format!("{} first, and what becomes of them is waited for", plan.canary),
        ),
        (
            "Then",
            format!(
                "{} times as many each time, {} apart",
                plan.factor,
                readable::duration(plan.interval)
            ),
        ),
        (
            "Stops",
            format!(
                "when more than {}% fail",
                readable::number(f64::from(plan.stop_permille) / 10.0)
            ),
        ),
    ]
}

pub(super) async fn pause(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let job = found(&site, &name).await?;
    site.desk.pause_job(job.id, &acting.act()).await?;
    Ok(acting.went(&Done::JobPaused.at(&address(job.id), 1)))
}

pub(super) async fn resume(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let job = found(&site, &name).await?;
    let act = match job.state {
        JobState::Stopped => acting.act_with_reason()?,
        _ => acting.act(),
    };
    site.desk.resume_job(job.id, &act).await?;
    Ok(acting.went(&Done::JobResumed.at(&address(job.id), 1)))
}

pub(super) async fn cancel(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let job = found(&site, &name).await?;
    site.desk.cancel_job(job.id, &acting.act()).await?;
    Ok(acting.went(&Done::JobCancelled.at(&address(job.id), 1)))
}
