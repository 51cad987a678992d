use std::sync::Arc;

use redeliver::{Moment, clock};
use serde_json::{Value, json};

use crate::{output, readable};

/// Who does something in the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    Payment(u64),
    Careless,
    Stream,
    Shop,
    Relay,
    Person,
    Step(u32),
    Destination(&'static str),
}

impl Actor {
    fn name(self) -> String {
        match self {
            Self::Payment(number) => format!("payment {number}"),
            Self::Careless => "careless".to_owned(),
            Self::Stream => "stream".to_owned(),
            Self::Shop => "shop".to_owned(),
            Self::Relay => "relay".to_owned(),
            Self::Person => "person".to_owned(),
            Self::Step(number) => format!("step {number}"),
            Self::Destination(name) => name.to_owned(),
        }
    }

    /// The ANSI colour that tells one from the other.
    const fn colour(self) -> u8 {
        match self {
            Self::Payment(_) | Self::Relay => 36,
            Self::Careless | Self::Person => 33,
            Self::Stream | Self::Shop => 35,
            Self::Step(_) => 32,
            Self::Destination(_) => 34,
        }
    }
}

/// Tells what happens, a line at a time: when, who, what.
#[derive(Debug)]
pub(super) struct Narrator {
    began: Moment,
    json: bool,
    coloured: bool,
}

impl Narrator {
    pub(super) fn new(json: bool) -> Arc<Self> {
        let coloured = !json && output::is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Arc::new(Self {
            began: clock::now(),
            json,
            coloured,
        })
    }

    /// Words for a person, the same in figures for a program.
    pub(super) fn tell(&self, actor: Actor, words: &str, mut figures: Value) {
        let at = clock::now().since(self.began);
        if self.json {
            let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
            figures["at_ms"] = json!(at_ms);
            figures["who"] = json!(actor.name());
            figures["words"] = json!(words);
            return output::json(&figures);
        }
        let (at, who) = (
            format!("{:6.2}s", at.as_secs_f64()),
            format!("{:<11}", actor.name()),
        );
        match self.coloured {
            true => output::line(&format!(
                "\x1b[2m{at}\x1b[0m  \x1b[{}m{who}\x1b[0m {words}",
                actor.colour()
            )),
            false => output::line(&format!("{at}  {who} {words}")),
        }
    }

    pub(super) const fn is_json(&self) -> bool {
        self.json
    }

    pub(super) const fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// How far it is, on a line that the next one replaces.
    pub(super) fn progress(&self, words: &str) {
        if !self.json {
            output::progress(words);
        }
    }

    /// Words that belong to nobody, and that no program needs.
    pub(super) fn aside(&self, words: &str) {
        if !self.json {
            output::line(words);
        }
    }

    pub(super) fn elapsed(&self) -> String {
        readable::duration(clock::now().since(self.began))
    }
}
