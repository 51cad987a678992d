//! Going on by a configuration that was changed.

use super::{
    super::{
        database::{DatabaseFlags, Outbox},
        settings::Settings,
    },
    Serving,
    door::OpenDesk,
};
use crate::exit::BadInput;

impl Serving {
    /// Reads the configuration again. One that makes no sense changes nothing.
    pub(super) async fn reload(&mut self, flags: &DatabaseFlags) {
        let old = &self.outbox.settings;
        let mut settings = match read(flags, old, &self.desk) {
            Ok(settings) => settings,
            Err(error) => return self.telling.not_reloaded(&error.to_string()),
        };
        let later = keep_what_runs(&mut settings, old);
        let outbox = Outbox::new(settings, self.outbox.opened.clone());
        self.relays.follow(&outbox, &self.reader, &self.telemetry).await;
        self.desk.follow(&outbox, self.relays.counting());
        self.outbox = outbox;
        let names: Vec<&str> = self.outbox.settings.routes.iter().map(|(name, _)| name).collect();
        self.telling.reloaded(&names, &later);
    }
}

/// The configuration as it is now, if it can take the place of the one before where the desk is open.
pub(super) fn read(flags: &DatabaseFlags, old: &Settings, desk: &OpenDesk) -> Result<Settings, BadInput> {
    let settings = flags.settings()?;
    desk.check(&settings.server)?;
    lost(old, &settings).map_or(Ok(settings), Err)
}

/// What was lost rather than changed: a file that is moved, unmounted or half written says nothing, and every message would be quarantined
/// and everybody let in by it. Whoever means it starts anew.
fn lost(old: &Settings, new: &Settings) -> Option<BadInput> {
    let file = new.file.as_ref().or(old.file.as_ref());
    let file = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
    let what = if old.file.is_some() && new.file.is_none() {
        "is not there any more: put it back and reload again"
    } else if !old.blank && new.blank {
        "says nothing any more: fill it and reload again"
    } else if !old.only_built_in && new.only_built_in {
        "names no destination any more, so that every message would be quarantined: name one under [destinations] and reload again"
    } else if !old.server.tokens.is_empty() && new.server.tokens.is_empty() {
        "names no token any more, so that nobody would be asked who they are: name one under [server.tokens] and reload again"
    } else {
        return None;
    };
    Some(BadInput(format!("{file}{what}, or restart to go on without")))
}

/// Leaves as it is what was decided at the start; says what of it the file has otherwise.
fn keep_what_runs(settings: &mut Settings, old: &Settings) -> Vec<&'static str> {
    let mut later = Vec::new();
    for (name, differs) in [
        ("database", settings.database != old.database),
        ("schema and prefix", settings.names != old.names),
        ("relay.history", settings.relay.kept() != old.relay.kept()),
        ("server.listen", settings.server.listen != old.server.listen),
        ("telemetry", settings.telemetry != old.telemetry),
    ] {
        if differs {
            later.push(name);
        }
    }
    settings.database.clone_from(&old.database);
    settings.names = old.names.clone();
    settings.relay.history = old.relay.history;
    settings.relay.history_payloads = old.relay.history_payloads;
    settings.server.listen = old.server.listen;
    settings.telemetry = old.telemetry.clone();
    later
}
