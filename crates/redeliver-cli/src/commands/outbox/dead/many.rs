//! Doing the same to many dead letters: which, how many, and whether that is meant.

use redeliver_outbox::{
    MessageId,
    desk::{Act, Filter, MessageRef, NewJob},
    state::Status,
};
use serde_json::json;

use super::super::{
    act_flags::confirmed,
    database::Outbox,
    job::{JobForm, follow, line},
    show::name,
};
use crate::{
    exit::{BadInput, Exit, NotFound},
    output, readable,
};

/// So many are changed in one transaction.
pub(super) const BATCH: usize = 500;

/// Which dead letters an act is for.
pub(super) struct Chosen<'a> {
    pub(super) ids: &'a [MessageRef],
    pub(super) filter: Filter,
    /// Whether the filter narrows anything.
    pub(super) narrowed: bool,
    /// Whether it was said that all are meant.
    pub(super) all: bool,
    pub(super) limit: Option<usize>,
    pub(super) yes: bool,
}

impl Chosen<'_> {
    /// Whether it was said which, in one way.
    pub(super) fn check(&self, act: &str) -> Result<(), BadInput> {
        let what = match (self.ids.is_empty(), self.narrowed, self.all) {
            (false, true, _) | (false, _, true) => {
                format!("name the messages to {act}, or narrow them, not both")
            }
            (true, false, false) => {
                let next = "name messages, narrow them with --to, --error and the like, or add --all";
                format!("which dead letters to {act}? {next}")
            }
            _ => return Ok(()),
        };
        Err(BadInput(what))
    }

    /// How many at most, after asking where many are meant; none if the answer was no.
    pub(super) async fn settle(&self, outbox: &Outbox, act: &str) -> anyhow::Result<Option<usize>> {
        self.check(act)?;
        match self.ids.len() {
            0 => self.ask(outbox, act).await,
            named => Ok(Some(named)),
        }
    }

    async fn ask(&self, outbox: &Outbox, act: &str) -> anyhow::Result<Option<usize>> {
        let matching = usize::try_from(outbox.desk().count(&self.filter).await?).unwrap_or(usize::MAX);
        let count = self.limit.map_or(matching, |limit| limit.min(matching));
        let letters = if matching == 1 {
            "dead letter matches"
        } else {
            "dead letters match"
        };
        output::note(&format!("{matching} {letters}"));
        if count == 0 {
            return Ok(Some(0));
        }
        let of = if count < matching {
            format!("{act} the oldest {count}")
        } else {
            format!("{act} {count}")
        };
        Ok(confirmed(self.yes, &of)?.then_some(count))
    }
}

/// A few of those that are meant.
pub(super) async fn preview(outbox: &Outbox, filter: &Filter) -> anyhow::Result<()> {
    for letter in outbox.desk().preview_job(filter).await?.sample {
        let reason = letter.dead_letter_reason.map_or("", |reason| reason.as_str());
        output::note(&format!(
            "  {} to {}, {reason}: {}",
            letter.id.number(),
            readable::line(&letter.destination, 40),
            readable::line(letter.last_error.as_deref().unwrap_or("-"), 80)
        ));
    }
    Ok(())
}

/// Makes a job, and takes its steps until it is over, or leaves them to a relay.
pub(super) async fn as_job(
    outbox: &Outbox,
    job: &NewJob,
    act: &Act,
    background: bool,
    as_json: bool,
) -> anyhow::Result<Exit> {
    let job = outbox.desk().create_job(job, act).await?;
    let id = job.id;
    if !background {
        output::note(&format!(
            "job {id}: `redeliver job pause {id}` holds it, `redeliver job cancel {id}` ends it"
        ));
        return follow(outbox, id, as_json).await;
    }
    match as_json {
        true => output::json(&JobForm::of(&job)),
        false => output::line(&format!(
            "{}; a relay takes its steps, and `redeliver job show {id}` tells how far it is",
            line(&job)
        )),
    }
    Ok(Exit::Done)
}

/// The filter of an act: dead letters only, those named or those that match.
pub(super) fn filter(ids: &[MessageRef], filter: Filter) -> Filter {
    Filter {
        messages: ids.to_vec(),
        statuses: vec![Status::DeadLettered],
        ..filter
    }
}

/// Tells what was done, and what of the messages that were named was not.
pub(super) async fn told(
    outbox: &Outbox,
    done: &[MessageId],
    named: &[MessageRef],
    past: &str,
    as_json: bool,
) -> anyhow::Result<Exit> {
    for id in done {
        match as_json {
            true => output::json(&json!({ past: id.to_string() })),
            false => output::line(&id.to_string()),
        }
    }
    missed(outbox, done, named, past).await?;
    output::note(&format!("{past} {}", done.len()));
    Ok(Exit::Done)
}

/// The error that names what was not done, and why not: what is elsewhere, and what is nowhere.
pub(super) async fn missed(
    outbox: &Outbox,
    done: &[MessageId],
    named: &[MessageRef],
    past: &str,
) -> anyhow::Result<()> {
    let (mut elsewhere, mut nowhere) = (Vec::new(), Vec::new());
    for &message in named {
        let is_done = done.iter().any(|id| match message {
            MessageRef::Id(named) => named == *id,
            MessageRef::Number(number) => number == id.number(),
        });
        if is_done {
            continue;
        }
        let into = match outbox.desk().find(message).await? {
            Some(_) => &mut elsewhere,
            None => &mut nowhere,
        };
        let name = name(message);
        if !into.contains(&name) {
            into.push(name);
        }
    }
    let mut reasons = Vec::new();
    if let Some(first) = elsewhere.first() {
        let all = elsewhere.join(", ");
        reasons.push(format!(
            "being no dead letter: {all} (`redeliver why {first}` says where it is)"
        ));
    }
    if !nowhere.is_empty() {
        reasons.push(format!("because there is no message {}", nowhere.join(", ")));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(NotFound(format!("not {past}, {}", reasons.join("; and "))).into())
}
