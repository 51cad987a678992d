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
mod start;
mod telling;

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use redeliver::clock;
use redeliver_outbox::{
    config::Listen,
    relay::{Figures, Witness},
};

pub(in crate::commands) use self::hosted::Hosted;
use self::{
    door::{Door, OpenDesk},
    figures::Sum,
    relays::Relays,
    shown::Reader,
    start::{Start, ready},
    telling::{LogFormat, Telling},
};
use super::database::{DatabaseFlags, Outbox};
use crate::{
    ending::{Asked, Signals},
    exit::{Exit, outbox_help},
    policy_flags::parse_limit,
    telemetry::Telemetry,
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

/// Shows what the library reports of a command that takes long, on standard error.
pub(super) fn show_reports() {
    Telling::install(false, false);
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

#[cfg(test)]
mod tests {
    use std::{env, fs};

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
