//! The exercises of the documents: run as they are written, each step checked against the database.

mod quarantine;
mod recover;
mod rescue;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::ValueEnum;
use redeliver_outbox::store::Settlement;
use redeliver_policy::{StopReason, duration};
use serde_json::{Value, json};

use super::{
    DemoArgs,
    narrator::{Actor, Narrator},
    outbox::USUAL_FAIL_RATE,
    shop::Shop,
    stage::{Running, Stage},
};
use crate::{ending::told_to_end, exit::Exit, output};

/// What does not happen within this time does not happen.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Exercise {
    /// Passing failures recover by themselves
    A,
    /// What can never succeed is quarantined
    B,
    /// A person rescues a dead letter
    C,
}

impl Exercise {
    const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::A => "passing failures: retried until they are sent",
            Self::B => "a failure that no retry mends: quarantined",
            Self::C => "a person rescues a dead letter",
        }
    }
}

pub(super) async fn run(exercise: Exercise, args: &DemoArgs) -> anyhow::Result<Exit> {
    let told = told_to_end().context("cannot listen for signals")?;
    let fail_rate = match exercise {
        Exercise::A => USUAL_FAIL_RATE,
        Exercise::B | Exercise::C => 0,
    };
    let stage = Stage::set(fail_rate, args.seed, args.keep).await?;
    let mut sheet = Sheet::new(stage, args.json)?;
    sheet.narrator.aside(&format!(
        "Exercise {}, {}. The outbox: {}\n",
        exercise.name().to_uppercase(),
        exercise.title(),
        sheet.stage.database()
    ));
    let doing = async {
        match exercise {
            Exercise::A => recover::run(&mut sheet).await,
            Exercise::B => quarantine::run(&mut sheet).await,
            Exercise::C => rescue::run(&mut sheet).await,
        }
    };
    let done = tokio::select! {
        done = doing => done,
        () = told => return Ok(Exit::GaveUp(StopReason::Cancelled)),
    };
    sheet.end(exercise, args.json, done).await
}

/// An exercise under way: where it happens, and how its steps went.
struct Sheet {
    stage: Stage,
    shop: Shop,
    narrator: Arc<Narrator>,
    broken: Vec<String>,
    steps: u32,
}

impl Sheet {
    fn new(stage: Stage, as_json: bool) -> anyhow::Result<Self> {
        Ok(Self {
            shop: Shop::open(&stage.file())?,
            stage,
            narrator: Narrator::new(as_json),
            broken: Vec::new(),
            steps: 0,
        })
    }

    /// Tells something on the way.
    fn note(&self, actor: Actor, words: &str, mut figures: Value) {
        figures["event"] = json!("note");
        self.narrator.tell(actor, words, figures);
    }

    /// A step's end: what was to be seen, and whether it was.
    fn step(&mut self, number: u32, held: bool, words: &str, mut figures: Value) {
        self.steps = self.steps.max(number);
        figures["event"] = json!("step");
        figures["step"] = json!(number);
        figures["held"] = json!(held);
        let mark = if held { "✓" } else { "✗" };
        self.narrator
            .tell(Actor::Step(number), &format!("{mark} {words}"), figures);
        if !held {
            self.broken.push(format!("step {number} ({words})"));
        }
    }

    async fn end(self, exercise: Exercise, as_json: bool, done: anyhow::Result<()>) -> anyhow::Result<Exit> {
        let letter = exercise.name();
        let held = done.is_ok() && self.broken.is_empty();
        if as_json {
            let summary = json!({
                "exercise": letter,
                "held": held,
                "steps": self.steps,
                "broken": self.broken,
                "kept": self.stage.kept(),
            });
            output::json(&json!({ "summary": summary }));
        }
        let (elapsed, kept, database) = (self.narrator.elapsed(), self.stage.kept(), self.stage.database());
        self.stage.server.shutdown().await;
        done.with_context(|| format!("exercise {letter} came to no end"))?;
        if !held {
            anyhow::bail!("exercise {letter}: did not happen: {}", self.broken.join("; "));
        }
        self.narrator
            .aside(&format!("\nAll of it happened, in {elapsed}."));
        if kept.is_some() {
            self.narrator
                .aside(&format!("Look into it: redeliver list --database {database}"));
        }
        Ok(Exit::Done)
    }
}

/// What the relay wrote down next.
async fn settled(relay: &mut Running) -> anyhow::Result<Settlement> {
    let next = tokio::time::timeout(PATIENCE, relay.settled.recv()).await;
    let next = next.with_context(|| format!("nothing happened for {}", duration::display(PATIENCE)))?;
    next.context("the relay ended early")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_that_did_not_happen_fails_the_exercise() {
        let stage = Stage::set(0, 1, false).await.unwrap();
        let mut sheet = Sheet::new(stage, true).unwrap();
        sheet.step(1, true, "this happened", json!({}));
        sheet.step(2, false, "that was to happen", json!({}));
        let ended = sheet.end(Exercise::A, true, Ok(())).await;
        let error = ended.unwrap_err().to_string();
        assert_eq!(error, "exercise a: did not happen: step 2 (that was to happen)");
    }
}
