//! From a configuration to an outbox whose server is there.

use std::{env, sync::Arc, time::Duration};

use anyhow::Context as _;
use redeliver::{address, clock};
use redeliver_outbox::{
    desk::{Filter, JobDesk, MessageRef},
    store::StoreErrorKind,
};
use serde_json::json;

use super::{
    super::{
        database::{DatabaseFlags, Outbox},
        settings::{BUILT_IN, Settings},
    },
    door::OpenDesk,
    reload,
    telling::Telling,
};
use crate::{
    exit::{BadInput, Exit},
    output,
    telemetry::Collector,
};

/// How soon a server that is not there is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// What a relay is started by, which may still change while its database is waited for.
pub(super) struct Start {
    pub(super) settings: Settings,
    pub(super) collector: Option<Collector>,
}

impl Start {
    pub(super) fn by(settings: Settings) -> Result<Self, BadInput> {
        let collector = Collector::choose(&settings.telemetry, |name| env::var(name).ok())?;
        Ok(Self { settings, collector })
    }

    /// Reads the configuration again: it may be what is waited for. Only where the desk is open is decided already.
    pub(super) fn again(&mut self, flags: &DatabaseFlags, desk: &OpenDesk, telling: Telling) {
        let listen = self.settings.server.listen;
        match reload::read(flags, &self.settings, desk).and_then(Self::by) {
            Ok(start) => *self = start,
            Err(error) => return telling.not_reloaded(&error.to_string()),
        }
        let server = &mut self.settings.server;
        let later: &[&str] = match server.listen == listen {
            true => &[],
            false => &["server.listen"],
        };
        server.listen = listen;
        let names: Vec<&str> = self.settings.routes.iter().map(|(name, _)| name).collect();
        telling.reloaded(&names, later);
    }
}

/// An outbox, and the desk beside its relay.
pub(super) type Whole = (Outbox, Arc<dyn JobDesk>);

/// The outbox, once its server is there and nothing is known that a person has to mend first.
pub(super) async fn ready(
    settings: Settings,
    telling: Telling,
    desk: &mut OpenDesk,
) -> anyhow::Result<Whole> {
    let (outbox, beside) = opened(settings, telling, desk).await?;
    greet(telling, &outbox.settings);
    look_first(telling, &outbox).await?;
    Ok((outbox, beside))
}

/// The outbox with the desk's own way to it, without which nothing is begun.
async fn whole(settings: Settings) -> anyhow::Result<Whole> {
    let outbox = Outbox::open_or_make(settings).await?;
    let beside = outbox.desk_beside().await?;
    // Some connect only when they are asked something.
    match beside.version().await {
        Err(error) if error.kind() == StoreErrorKind::Unreachable => Err(outbox.named(error.into())),
        _ => Ok((outbox, beside)),
    }
}

/// The outbox, once its server is there.
async fn opened(settings: Settings, telling: Telling, desk: &mut OpenDesk) -> anyhow::Result<Whole> {
    let mut waited = false;
    loop {
        // On a task of its own: SQLite waits for another one's lock where it stands, and signals and time go on meanwhile.
        let opening = tokio::spawn(whole(settings.clone()));
        let error = match opening.await.context("the database could not be opened")? {
            Ok(whole) => return Ok(whole),
            Err(error) if Exit::of(&error) == Exit::Unreachable => error,
            Err(error) => return Err(error),
        };
        if !waited {
            telling.waits(&output::causes(&error));
            desk.tell(telling);
        }
        waited = true;
        clock::sleep(AGAIN).await;
    }
}

fn greet(telling: Telling, settings: &Settings) {
    let names: Vec<&str> = settings.routes.iter().map(|(name, _)| name).collect();
    let address = address::shown(&settings.database);
    let file = settings.file.as_ref().map(|file| file.display().to_string());
    let words = match (&file, settings.only_built_in) {
        (Some(file), false) => format!(
            "relay for {address}; destinations from {file}: {}",
            names.join(", ")
        ),
        _ => {
            let why = file
                .as_ref()
                .map_or("without a configuration".to_owned(), |file| {
                    format!("{file} names no destination")
                });
            format!(
                "relay for {address}, {why}: messages to {BUILT_IN:?} are shown here, those to any other destination are quarantined \
                 as unknown_destination"
            )
        }
    };
    let figures = json!({
        "event": "started",
        "database": address,
        "config": file,
        "destinations": names,
    });
    telling.note(&words, &figures);
}

/// What a person has to mend is said at once; what mends itself is left to the relay, which waits.
async fn look_first(telling: Telling, outbox: &Outbox) -> anyhow::Result<()> {
    let nothing = Filter {
        messages: vec![MessageRef::Number(0)],
        ..Filter::default()
    };
    let Err(error) = outbox.desk().count(&nothing).await else {
        return Ok(());
    };
    match error.kind() {
        StoreErrorKind::BadInput | StoreErrorKind::TooNew | StoreErrorKind::Unsupported => {
            Err(outbox.named(error.into()))
        }
        _ => {
            telling.waits(&format!("{}: {error}", outbox.address()));
            Ok(())
        }
    }
}
