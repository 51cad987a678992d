//! Going through the table, until it is done or told to end.

use redeliver::{Class, Policy, clock, prelude::*};
use redeliver_outbox::{
    desk::{Act, Desk},
    import::{Import, Refusal, Step, Tally, Trouble},
    limits,
    store::{StoreError, StoreErrorKind},
};

use super::{ImportArgs, form, recorded::Recorded};
use crate::{commands::outbox::database::Outbox, ending::Signals, exit::Exit, output, readable};

/// How many refused rows a person is told of, one by one.
const TOLD: u64 = 20;

pub(super) struct Going<'a> {
    args: &'a ImportArgs,
    name: &'a str,
    import: Import,
    outbox: Option<&'a Outbox>,
    act: &'a Act,
    signals: Signals,
    tally: Tally,
    recorded: Recorded,
    /// Whether somebody has asked for the end.
    told_to_end: bool,
    /// Whether it was said that everything is read.
    caught_up: bool,
}

/// What one step is.
#[derive(Clone, Copy)]
enum Way {
    Forward(usize),
    Back,
}

impl<'a> Going<'a> {
    pub(super) fn new(
        args: &'a ImportArgs,
        name: &'a str,
        import: Import,
        outbox: Option<&'a Outbox>,
        act: &'a Act,
        signals: Signals,
    ) -> Self {
        Self {
            args,
            name,
            import,
            outbox,
            act,
            signals,
            tally: Tally::default(),
            recorded: Recorded::default(),
            told_to_end: false,
            caught_up: false,
        }
    }

    pub(super) async fn on(&mut self) -> Result<Exit, Trouble> {
        let mut looked_back = clock::now();
        while let Some(most) = self.room() {
            let Some(step) = self.persist(Way::Forward(most)).await? else {
                break;
            };
            let (more, stopped) = (step.more, self.args.strict && !step.refusals.is_empty());
            self.tell(&step);
            if self.told_to_end || stopped || (!more && !self.args.follow) {
                break;
            }
            self.record_if_due().await.map_err(Trouble::Outbox)?;
            if more {
                continue;
            }
            self.say_caught_up();
            if clock::now().since(looked_back) >= limits::IMPORT_LOOK_BACK_EVERY {
                match self.persist(Way::Back).await? {
                    Some(step) => self.tell(&step),
                    None => break,
                }
                looked_back = clock::now();
            }
            tokio::select! {
                () = clock::sleep(limits::IMPORT_POLL) => {}
                _ = self.signals.next() => break,
            }
        }
        Ok(match self.tally.refused {
            0 => Exit::Done,
            _ => Exit::Failed,
        })
    }

    /// How many rows may still be read at once; none if as many as were wanted have been.
    fn room(&self) -> Option<usize> {
        let left = self
            .args
            .limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(self.tally.read));
        let most = left.min(self.args.batch);
        usize::try_from(most).ok().filter(|most| *most > 0)
    }

    /// A step, again while a database is away: for a while, or for as long as it takes if it goes on anyway. None if it was told to end.
    async fn persist(&mut self, way: Way) -> Result<Option<Step>, Trouble> {
        let policy = match self.args.follow {
            true => Policy::RECONNECT,
            false => Policy::STANDARD,
        };
        let mut attempts = policy.attempts();
        let mut last: Option<Trouble> = None;
        loop {
            let attempt = tokio::select! {
                attempt = attempts.next_async() => attempt,
                _ = self.signals.next() => return Ok(None),
            };
            let Some(attempt) = attempt else {
                // The first attempt is always had, so that there is an error if there is no other.
                return last.map_or(Ok(None), Err);
            };
            match self.step(way).await {
                Ok(step) => return Ok(step),
                Err(error) if may_come_back(error.error()) && !self.told_to_end => {
                    attempt.failed(Class::Transient);
                    output::note(&format!("{error}; it is tried again"));
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One attempt. A batch that has begun is finished, unless somebody asks twice.
    async fn step(&mut self, way: Way) -> Result<Option<Step>, Trouble> {
        let Self {
            import,
            outbox,
            signals,
            told_to_end,
            ..
        } = self;
        let desk = outbox.map(|outbox| outbox.desk() as &dyn Desk);
        let work = async move {
            match (way, desk) {
                (Way::Forward(most), desk) => import.forward(desk, most).await,
                (Way::Back, Some(desk)) => import.look_back(desk).await,
                (Way::Back, None) => Ok(Step::default()),
            }
        };
        let mut work = Box::pin(work);
        loop {
            tokio::select! {
                step = &mut work => return step.map(Some),
                _ = signals.next() => {
                    if *told_to_end {
                        return Ok(None);
                    }
                    *told_to_end = true;
                    output::note("it ends after this batch; once more to end at once");
                }
            }
        }
    }

    fn tell(&mut self, step: &Step) {
        let told_before = self.tally.refused;
        let read = step.tally.read > 0;
        if let (Some(sample), 0) = (&step.sample, self.tally.inserted)
            && !self.args.json
        {
            output::note(&form::sample(sample));
        }
        self.tally = self.tally.plus(step.tally);
        for (refusal, count) in step.refusals.iter().zip(told_before + 1..) {
            self.refused(refusal, count);
        }
        if !read {
            return;
        }
        match self.args.json && self.args.follow {
            true => output::json(&self.form(false)),
            false => output::progress(&self.words()),
        }
    }

    fn refused(&self, refusal: &Refusal, count: u64) {
        if self.args.json {
            output::json(&form::Refused::of(
                self.import.written(&refusal.position),
                refusal,
            ));
            return;
        }
        output::progress_done();
        match count {
            ..=TOLD => output::note(&format!(
                "row {}: {}",
                readable::line(&refusal.position.to_string(), 80),
                readable::line(&refusal.reason, 300)
            )),
            _ if count == TOLD + 1 => output::note("more rows are refused, and counted; --json tells each"),
            _ => {}
        }
    }

    fn say_caught_up(&mut self) {
        if !self.caught_up {
            self.caught_up = true;
            output::progress_done();
            output::note(&format!(
                "{}; everything is read, and it goes on with what comes (Ctrl-C ends it)",
                self.words()
            ));
        }
    }

    /// It may be killed before its end, and how far it was must be known then.
    async fn record_if_due(&mut self) -> Result<(), StoreError> {
        let now = clock::now();
        if !self.recorded.is_due(now, self.tally) {
            return Ok(());
        }
        match self.record(false).await {
            Ok(()) => self.recorded.note(now, self.tally),
            // The next step waits for the database, and after that it is still due.
            Err(error) if may_come_back(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// An entry in the audit trail for all of it so far, if anything was done.
    pub(super) async fn record(&self, ended: bool) -> Result<(), StoreError> {
        match self.outbox {
            Some(outbox) if self.tally.inserted > 0 => {
                let desk = outbox.desk();
                self.import.record(desk, self.tally, ended, self.act).await
            }
            _ => Ok(()),
        }
    }

    /// Whether there is anything to tell.
    pub(super) const fn has_read(&self) -> bool {
        self.tally.read > 0
    }

    pub(super) fn sum_up(&self) {
        match self.args.json {
            true => output::json(&self.form(true)),
            false => output::line(&self.words()),
        }
    }

    fn words(&self) -> String {
        form::words(self.name, self.args.dry_run, &self.tally, self.place().as_deref())
    }

    fn form(&self, ended: bool) -> form::ImportForm<'_> {
        form::ImportForm::of(self.name, self.args.dry_run, &self.tally, self.place(), ended)
    }

    /// Up to where everything was read, as `--after` takes it.
    fn place(&self) -> Option<String> {
        let place = self.import.position();
        place.map(|place| self.import.written(place))
    }
}

/// What is away may come back; anything else is for people.
fn may_come_back(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Unreachable | StoreErrorKind::Busy)
}
