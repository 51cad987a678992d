//! What a relay says while it runs: to a person, or in JSON lines.

use std::{
    fmt::{self, Write as _},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redeliver_outbox::{Timestamp, relay::Finished};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, filter,
    layer::{Context, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use super::figures::Sum;
use crate::{output, readable};

/// The target of the destination `log`.
const MESSAGES: &str = "redeliver::log";
/// The name of an event: an attempt that failed, and is made again.
const RETRY: &str = "retry_attempt";
/// The name of an event: a message that is made again no more.
const DEAD: &str = "dead_lettered";

/// How it is told what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// In words where a person looks, else as JSON
    Auto,
    /// In words
    Human,
    /// One JSON object a line, on standard output
    Json,
}

impl LogFormat {
    pub(super) fn is_json(self, asked: bool) -> bool {
        asked || self == Self::Json || self == Self::Auto && !output::is_watched()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Telling {
    as_json: bool,
    /// Whether each attempt that fails is told.
    verbose: bool,
    /// Whether the end was told, after which nothing is: threads that are still at work then have nothing to say that matters.
    end: &'static Mutex<End>,
}

#[derive(Debug, Default)]
struct End {
    is_told: bool,
    #[cfg(test)]
    said: usize,
}

impl Telling {
    /// From now on the library's events are told as well: messages to `log` on standard output, trouble on standard error.
    pub(super) fn install(as_json: bool, verbose: bool) -> Self {
        let telling = Self::new(as_json, verbose);
        let ours = filter::Targets::new().with_target("redeliver", Level::INFO);
        let layer = telling.with_filter(ours);
        let _ = tracing_subscriber::registry().with(layer).try_init();
        telling
    }

    fn new(as_json: bool, verbose: bool) -> Self {
        Self {
            as_json,
            verbose,
            // As long as the process: whoever tells has a copy.
            end: Box::leak(Box::default()),
        }
    }

    /// Tells, unless the end was told.
    fn say(self, words: impl FnOnce()) {
        self.say_and_end(false, words);
    }

    /// Tells the end.
    fn say_last(self, words: impl FnOnce()) {
        self.say_and_end(true, words);
    }

    fn say_and_end(self, is_end: bool, words: impl FnOnce()) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.is_told {
            return;
        }
        end.is_told = is_end;
        #[cfg(test)]
        {
            end.said += 1;
        }
        words();
    }

    pub(super) fn note(self, words: &str, figures: &Value) {
        self.say(|| self.put(words, figures));
    }

    fn put(self, words: &str, figures: &impl Serialize) {
        match self.as_json {
            true => tell(figures),
            false => note(words),
        }
    }

    /// That something has to be mended first.
    pub(super) fn waits(self, error: &str) {
        self.note(
            &format!("{error}; the relay waits until then"),
            &json!({ "event": "waiting", "error": error }),
        );
    }

    /// That the time was over before there was a database.
    pub(super) fn too_late(self) {
        let words = "the time that --for gives is over, and the database was not there";
        self.say_last(|| self.put(words, &json!({ "event": "stopped", "error": words })));
    }

    /// That another worker's lease has to end first.
    pub(super) fn silent(self, worker: &str, left: Duration) {
        let worker = readable::line(worker, 80);
        let words = format!(
            "waiting for the lease of {worker}, which is silent: it ends in {}",
            readable::duration(left)
        );
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        self.note(
            &words,
            &json!({ "event": "waiting", "worker": worker, "lease_ends_in_ms": left }),
        );
    }

    /// That some are left because their destinations are held.
    pub(super) fn holds_back(self, messages: u64, destinations: &[String]) {
        let names: Vec<String> = destinations.iter().map(|name| readable::line(name, 80)).collect();
        let words = format!(
            "messages left for destinations that are held: {messages}, for {}; `redeliver destination list` says why",
            names.join(", ")
        );
        self.note(
            &words,
            &json!({ "event": "held", "messages": messages, "destinations": destinations }),
        );
    }

    /// That there is no dashboard, which nobody asked for in so many words.
    pub(super) fn no_desk(self, address: std::net::SocketAddr, why: &str) {
        let words = format!("no dashboard at {address}: {why}; --listen names another address");
        self.note(
            &words,
            &json!({ "event": "not_listening", "address": address.to_string(), "why": why }),
        );
    }

    /// That the configuration was read again, and what of it waits for another start.
    pub(super) fn reloaded(self, destinations: &[&str], later: &[&str]) {
        let mut words = format!(
            "configuration read again; destinations: {}",
            destinations.join(", ")
        );
        if !later.is_empty() {
            words.push_str(&format!(
                "; still as before until the next start: {}",
                later.join(", ")
            ));
        }
        let figures = json!({ "event": "reloaded", "destinations": destinations, "needs_restart": later });
        self.note(&words, &figures);
    }

    /// That the configuration makes no sense, and so nothing has changed.
    pub(super) fn not_reloaded(self, error: &str) {
        let words = format!("{error}; the relay goes on by the configuration that it has");
        self.note(&words, &json!({ "event": "not_reloaded", "error": error }));
    }

    /// That a relay ended, and nobody had told it to.
    pub(super) fn broken(self, how: &str) {
        let words = format!("a relay ended by itself: {how}");
        self.note(&words, &json!({ "event": "relay_ended", "error": how }));
    }

    /// That something is still waited for.
    pub(super) fn stops(self, in_flight: u64, at_most: Duration) {
        let words = format!(
            "stopping: {in_flight} on their way are waited for, at most {}; told once more, it ends at once",
            readable::duration(at_most)
        );
        self.note(&words, &json!({ "event": "stopping", "in_flight": in_flight }));
    }

    /// That nobody waits for what is on its way.
    pub(super) fn left(self, sum: &Sum) {
        let words = "told again to stop: what was on its way is sent again by whoever comes next";
        let words = format!("{words}; {}", sum.words());
        self.say_last(|| self.put(&words, &sum.form("stopped", &json!({ "clean": false }))));
    }

    pub(super) fn figures(self, sum: &Sum, rate: f64) {
        self.say(|| match self.as_json {
            true => tell(&sum.form("figures", &json!({ "delivered_per_second": rate }))),
            false => output::progress(&format!(
                "{}; {} in flight, {} a second, {} shards",
                sum.words(),
                sum.in_flight,
                readable::number(rate),
                sum.shards
            )),
        });
    }

    pub(super) fn end(self, finished: &Finished, sum: &Sum) {
        let mut words = format!("stopped: {}", sum.words());
        match finished.abandoned {
            _ if finished.clean => {}
            0 => words.push_str(
                "\nthe database did not take this relay's shards back: whoever comes next waits for its lease to end",
            ),
            abandoned => words.push_str(&format!(
                "\nnot everything was finished in time: {abandoned} messages were on their way or not yet written down; whoever comes \
                 next sends them again, with the same ids"
            )),
        }
        let end = json!({ "clean": finished.clean, "abandoned": finished.abandoned });
        self.say_last(|| self.put(&words, &sum.form("stopped", &end)));
    }
}

/// A line of JSON, with the time at its beginning.
fn tell(figures: &impl Serialize) {
    #[derive(Serialize)]
    struct Line<'a, F> {
        at: String,
        #[serde(flatten)]
        figures: &'a F,
    }
    output::json(&Line {
        at: Timestamp::wall().to_string(),
        figures,
    });
}

/// A line of its own, whatever figures stood there.
fn note(words: &str) {
    output::progress_done();
    output::note(words);
}

impl<S: Subscriber> Layer<S> for Telling {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let kind = match (metadata.target(), metadata.name()) {
            (MESSAGES, _) => "message",
            (_, RETRY) if !self.verbose => return,
            (_, name @ (RETRY | DEAD)) => name,
            _ => "log",
        };
        let mut said = Said::default();
        event.record(&mut said);
        let show = || match kind {
            _ if self.as_json => tell(&said.form(kind, *metadata.level())),
            "message" => {
                output::progress_done();
                output::line(&said.as_message());
            }
            RETRY => note(&said.as_retry()),
            DEAD => note(&said.as_dead()),
            _ => note(&said.words(*metadata.level())),
        };
        match kind {
            // What is shown was delivered, and so it is shown whenever that is.
            "message" => show(),
            _ => self.say(show),
        }
    }
}

/// What an event says.
#[derive(Debug, Default)]
struct Said {
    message: String,
    fields: Map<String, Value>,
}

impl Said {
    fn text(&self, name: &str) -> String {
        match self.fields.get(name) {
            Some(Value::String(text)) => readable::line(text, 500),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }

    fn form(mut self, kind: &str, level: Level) -> Map<String, Value> {
        self.fields.insert("event".to_owned(), kind.into());
        if kind == "log" {
            self.fields.insert("level".to_owned(), level.as_str().into());
            self.fields.insert("what".to_owned(), self.message.into());
        }
        self.fields
    }

    fn as_retry(&self) -> String {
        let text = |name| self.text(name);
        let of = match self.fields.contains_key("max") {
            true => format!(" of {}", text("max")),
            false => String::new(),
        };
        let wait = self.fields.get("delay_ms").and_then(Value::as_u64).unwrap_or(0);
        let wait = readable::duration(Duration::from_millis(wait));
        let (id, to, attempt, error) = (
            text("message_id"),
            text("destination"),
            text("attempt"),
            text("error_message"),
        );
        format!("{id} {to}: attempt {attempt}{of} failed: {error}; again in {wait}")
    }

    fn as_dead(&self) -> String {
        let text = |name| self.text(name);
        let (id, reason, error) = (text("message_id"), text("reason"), text("error_message"));
        let to = match text("destination") {
            to if to.is_empty() => format!("on {}", text("topic")),
            to => to,
        };
        format!("{id} {to}: quarantined as {reason}: {error}")
    }

    /// A message that the destination `log` shows.
    fn as_message(&self) -> String {
        let text = |name: &str| self.text(name);
        let mut line = format!("{} {}", text("id"), text("destination"));
        if self.fields.contains_key("key") {
            let _ = write!(line, " {}", text("key"));
        }
        let _ = write!(line, " {}", text("payload"));
        line
    }

    fn words(&self, level: Level) -> String {
        let mut line = match level {
            Level::ERROR => "error: ".to_owned(),
            Level::WARN => "warning: ".to_owned(),
            _ => String::new(),
        };
        line.push_str(&readable::line(&self.message, 2_000));
        for (name, value) in &self.fields {
            let _ = write!(line, " {name}={}", readable::line(&value.to_string(), 200));
        }
        line
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => drop(self.fields.insert(name.to_owned(), text.into())),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => drop(self.fields.insert(name.to_owned(), value.into())),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name().to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_after_the_end() {
        let finished = Finished {
            clean: true,
            abandoned: 0,
        };
        let ends: [&dyn Fn(Telling); 3] = [
            &|telling| telling.end(&finished, &Sum::default()),
            &|telling| telling.left(&Sum::default()),
            &Telling::too_late,
        ];
        for end in ends {
            let telling = Telling::new(true, false);
            let said = || telling.end.lock().unwrap().said;
            tracing::subscriber::with_default(tracing_subscriber::registry().with(telling), || {
                tracing::warn!(target: "redeliver", "cannot read messages");
                telling.note("", &json!({ "event": "figures" }));
                assert_eq!(said(), 2);
                end(telling);
                assert_eq!(said(), 3);
                tracing::warn!(target: "redeliver", "the thread ended");
                telling.note("", &json!({ "event": "figures" }));
                end(telling);
                assert_eq!(said(), 3);
            });
        }
    }
}
