//! `redeliver serve`: the relay, until it is told to stop.

mod door;
mod empty;
mod figures;
mod hosted;
mod jobs;
mod relays;
mod reload;
mod retention;
mod shown;
mod silent;
mod telling;

use std::{
    env,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use redeliver::{address, clock};
use redeliver_outbox::{
    config::Listen,
    desk::{Filter, JobDesk, MessageRef},
    relay::{Figures, Witness},
    store::StoreErrorKind,
};
use serde_json::json;

pub(in crate::commands) use self::hosted::Hosted;
use self::{
    door::{Door, OpenDesk},
    figures::Sum,
    relays::Relays,
    shown::Reader,
    telling::{LogFormat, Telling},
};
use super::{
    database::{DatabaseFlags, Outbox},
    settings::{BUILT_IN, Settings},
};
use crate::{
    ending::{Asked, Signals},
    exit::{BadInput, Exit, outbox_help},
    output,
    policy_flags::parse_limit,
    telemetry::{Collector, Telemetry},
};

/// Run the relay: deliver what is in the outbox, retry on schedule, quarantine what cannot be delivered
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver serve\n  redeliver serve --config redeliver.toml --database postgres://me@localhost/app\n  \
    redeliver serve --until-empty --for 1m --json\n\n\
    Without a configuration there is one destination, log, which shows each message. A configuration is a redeliver.toml:\n\n  \
    database = \"postgres://me@localhost/app\"\n\n  [destinations.billing]\n  type = \"http\"\n  url = \"https://billing.example.com/events\"\n  \
    policy = { preset = \"batch\", max_attempts = 20 }\n\n\
    It stops on Ctrl-C or SIGTERM, and when --for is over: what is on its way is finished within the time that [relay] shutdown \
    gives, or sent again by whoever comes next. A second signal ends it at once, with the exit code 128 plus the signal's number: 130 for \
    Ctrl-C, 143 for SIGTERM. SIGHUP reads the configuration again (in a terminal it ends it): destinations, routes, retention, tokens and \
    how the relay works change without a stop. A database that goes away is waited for; if it was not there for all the time of --for, the exit code is 5."))]
pub(crate) struct ServeArgs {
    /// Stop when nothing is due or waiting
    #[arg(long)]
    until_empty: bool,
    /// Stop after this time, counted from the start
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_limit, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// Tell each attempt that fails
    #[arg(short, long)]
    verbose: bool,
    /// One JSON object a line: what happens, and the figures
    #[arg(long)]
    json: bool,
    /// How it tells what happens: in words, or as with --json [default: in words where a person looks, else as JSON]
    #[arg(long, value_enum, value_name = "FORMAT", env = "REDELIVER_LOG_FORMAT", default_value_t = LogFormat::Auto, hide_default_value = true)]
    log_format: LogFormat,
    /// Where the API and the dashboard are: an address and a port, or off [default: what the configuration says, or 127.0.0.1:8420;
    /// with --until-empty off]
    #[arg(long, value_name = "ADDRESS", env = "REDELIVER_LISTEN")]
    listen: Option<Listen>,
    #[command(flatten)]
    database: DatabaseFlags,
}

/// How soon a server that is not there is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Why a relay stops.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    Told,
    Empty,
    TimeUp,
    /// Nobody can see what is to be shown.
    Unseen,
    /// A relay ended that nobody had told to, in this way.
    Broken(String),
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    witnessed(args, Arc::new(())).await
}

async fn witnessed(args: ServeArgs, witness: Arc<dyn Witness>) -> anyhow::Result<Exit> {
    // Before signals are listened for: reading what never comes, such as a pipe that nobody writes to, ends as that of any program.
    let settings = args.database.settings()?;
    let door = Door::choose(args.listen, args.until_empty, &settings.server)?;
    let mut start = Start::by(settings)?;
    let mut signals = Signals::listen_as_daemon().context("cannot listen for signals")?;
    let mut over = pin!(after(args.run_for));
    let telling = Telling::install(args.log_format.is_json(args.json), args.verbose);
    // Before there is an outbox: whoever watches the process sees it live while its database is waited for.
    let mut desk = door.open(telling).await?;
    let (outbox, beside) = loop {
        tokio::select! {
            ready = ready(start.settings.clone(), telling, &mut desk) => break ready?,
            asked = signals.asked() => match asked {
                Asked::End(_) => return Ok(Exit::Done),
                Asked::Again => start.again(&args.database, &desk, telling),
            },
            () = &mut over => {
                telling.too_late();
                return Ok(if args.until_empty { Exit::TimeUp } else { Exit::Unreachable });
            }
        }
    };
    let reader = Reader::default();
    let telemetry = Telemetry::start(start.collector);
    let relays = Relays::start(&outbox, &reader, witness, &telemetry);
    desk.show(&outbox, beside, relays.counting(), &telemetry);
    desk.tell(telling);
    let mut serving = Serving {
        desk,
        relays,
        reader,
        outbox,
        telemetry,
        telling,
    };
    let why = loop {
        match serving.on(&args, &mut signals, over.as_mut()).await {
            Next::Stop(why) => break why,
            Next::Reload => serving.reload(&args.database).await,
        }
    };
    let Serving {
        relays,
        outbox,
        desk,
        telemetry,
        ..
    } = serving;
    let figures = relays.figures.clone();
    let in_flight = Sum::of(&figures).in_flight;
    if in_flight > 0 {
        telling.stops(in_flight, outbox.settings.relay.shutdown);
    }
    if let Stop::Broken(how) = &why {
        telling.broken(how);
    }
    let mut finished = tokio::select! {
        finished = relays.stop() => finished,
        signal = signals.next() => {
            telling.left(&Sum::of(&figures));
            return Ok(Exit::Signalled(signal));
        }
    };
    telemetry.finish().await;
    desk.close().await;
    finished.clean &= !matches!(why, Stop::Broken(_));
    telling.end(&finished, &Sum::of(&figures));
    match why {
        Stop::Unseen => anyhow::bail!(
            "standard output cannot be written to, and messages to \"log\" are shown there: what was not shown is still to be \
             delivered; run `redeliver serve` with an output that takes it"
        ),
        Stop::Broken(how) => anyhow::bail!(
            "a relay ended by itself: {how}; nothing is lost, and what was on its way is sent again: start `redeliver serve` again, and \
             report this as a bug"
        ),
        _ if !finished.clean => Ok(Exit::Unfinished),
        Stop::TimeUp if args.until_empty => Ok(Exit::TimeUp),
        Stop::TimeUp | Stop::Told | Stop::Empty => Ok(Exit::Done),
    }
}

/// What a relay is started by, which may still change while its database is waited for.
struct Start {
    settings: Settings,
    collector: Option<Collector>,
}

impl Start {
    fn by(settings: Settings) -> Result<Self, BadInput> {
        let collector = Collector::choose(&settings.telemetry, |name| env::var(name).ok())?;
        Ok(Self { settings, collector })
    }

    /// Reads the configuration again: it may be what is waited for. Only where the desk is open is decided already.
    fn again(&mut self, flags: &DatabaseFlags, desk: &OpenDesk, telling: Telling) {
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

/// What comes after some serving.
enum Next {
    Stop(Stop),
    /// The configuration is to be read again.
    Reload,
}

/// A relay at work, with all that is beside it.
struct Serving {
    relays: Relays,
    reader: Reader,
    outbox: Outbox,
    desk: OpenDesk,
    telemetry: Telemetry,
    telling: Telling,
}

impl Serving {
    /// Goes on until something else is wanted.
    async fn on(
        &mut self,
        args: &ServeArgs,
        signals: &mut Signals,
        over: Pin<&mut impl Future<Output = ()>>,
    ) -> Next {
        let Self {
            relays,
            reader,
            outbox,
            telling,
            ..
        } = self;
        let (telling, outbox, figures) = (*telling, &*outbox, &relays.figures.clone());
        let ended = async {
            tokio::select! {
                how = relays.broken() => Stop::Broken(how),
                () = over => Stop::TimeUp,
                () = emptied(args.until_empty, telling, outbox, figures) => Stop::Empty,
                () = reader.gone() => Stop::Unseen,
                never = retention::forget(outbox) => match never {},
                never = jobs::step(outbox, |step| jobs::tell(telling, step)) => match never {},
                never = figures::tell(telling, figures) => match never {},
                never = silent::tell(telling, outbox, figures) => match never {},
            }
        };
        tokio::select! {
            asked = signals.asked() => match asked {
                Asked::End(_) => Next::Stop(Stop::Told),
                Asked::Again => Next::Reload,
            },
            why = ended => Next::Stop(why),
        }
    }
}

/// An outbox, and the desk beside its relay.
type Whole = (Outbox, Arc<dyn JobDesk>);

/// The outbox, once its server is there and nothing is known that a person has to mend first.
async fn ready(settings: Settings, telling: Telling, desk: &mut OpenDesk) -> anyhow::Result<Whole> {
    let (outbox, beside) = opened(settings, telling, desk).await?;
    greet(telling, &outbox.settings);
    look_first(telling, &outbox).await?;
    Ok((outbox, beside))
}

/// All connections to the outbox: without those of the desk nothing is begun.
async fn whole(settings: Settings) -> anyhow::Result<Whole> {
    let outbox = Outbox::open_or_make(settings).await?;
    let beside = outbox.desk_beside().await?;
    Ok((outbox, beside))
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

/// Ready after this time; never, if there is none.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => clock::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Ready when nothing is due or waiting, if that is asked for.
async fn emptied(asked: bool, telling: Telling, outbox: &Outbox, figures: &[Arc<Figures>]) {
    match asked {
        true => empty::empty(telling, outbox, figures).await,
        false => std::future::pending().await,
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

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use redeliver_outbox::relay::Happening;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        serve: ServeArgs,
    }

    /// A relay that owns a shard has a bug.
    #[derive(Debug)]
    struct Bug;

    impl Witness for Bug {
        fn saw(&self, happening: Happening<'_>) {
            assert!(!matches!(happening, Happening::Owned(_)), "planted");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_relay_that_ends_by_itself_ends_the_process() {
        let name = format!("redeliver-broken-{:016x}", redeliver::entropy::draw());
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let database = format!("sqlite://{}", folder.join("redeliver.db").display());
        let arguments = ["serve", "--json", "--listen", "off", "--database", &database];
        let args = Alone::parse_from(arguments).serve;
        let error = witnessed(args, Arc::new(Bug)).await.unwrap_err();
        assert_eq!(Exit::of(&error), Exit::Failed);
        let told = error.to_string();
        assert!(told.starts_with("a relay ended by itself: "), "{told}");
        assert!(
            told.contains("planted") && told.contains("start `redeliver serve` again"),
            "{told}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
