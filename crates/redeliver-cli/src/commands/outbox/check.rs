//! `redeliver check`: would messages arrive?

use std::time::Duration;

use clap::Args;
use futures_util::{StreamExt as _, stream};
use redeliver_outbox::{
    desk::{Finding, Grade},
    destination::Route,
};
use redeliver_policy::duration;
use serde::Serialize;

use super::{
    database::DatabaseFlags,
    destination::{Test, chosen},
    doctor, finding, import,
    settings::Settings,
};
use crate::{
    exit::{Exit, help},
    output,
    policy_flags::parse_limit,
    readable,
    table::table,
};

const ENDS: [(Exit, &str); 4] = [
    (Exit::Done, "nothing is wrong"),
    (Exit::Failed, "something is, and what to do was said"),
    (Exit::BadInput, "the command or the configuration makes no sense"),
    (Exit::NotFound, "no such destination"),
];

/// So many destinations are looked at side by side.
const AT_ONCE: usize = 16;
const FIREWALL: &str = "look for a firewall on the way, or give --timeout more";
/// A destination is done in time by itself; one that is not is left after this much more.
const GRACE: Duration = Duration::from_secs(1);

/// Check the configuration, the database, what is to be imported and every destination, without sending a message: names, connections, certificates, credentials
#[derive(Args, Clone, Debug)]
#[command(after_long_help = help("  redeliver check\n  redeliver check --destination billing --json\n  \
    redeliver check --send --destination billing\n\n\
    For each destination over HTTP: whether its name leads somewhere and may lead there, whether a connection and TLS come about (through the proxy, \
    if there is one), until when its certificate and the client's are valid (advice from 21 days before the end), which HTTP is spoken, whether an OAuth 2 token can \
    be had. For each table that is to be imported: whether it is there with its columns. Only with --send is a message sent. What is wrong is told with its next step, and the exit code is 1; advice alone is 0.", &ENDS))]
pub(crate) struct CheckArgs {
    /// Only this destination; may be given several times
    #[arg(long = "destination", value_name = "NAME")]
    destinations: Vec<String>,
    /// Send a test message to each destination too
    #[arg(long)]
    send: bool,
    /// How long one destination, or the database, may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_limit, allow_hyphen_values = true)]
    timeout: Duration,
    /// One JSON object a line for each finding
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseFlags,
}

/// What was found, and where.
struct Found {
    place: String,
    findings: Vec<Finding>,
}

pub(super) async fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let settings = args.database.settings()?;
    let routes: Vec<(&str, &Route)> = match args.destinations.is_empty() {
        true => settings.routes.iter().collect(),
        false => {
            let named = args.destinations.iter();
            let named = named.map(|name| chosen(&settings, name).map(|route| (name.as_str(), route)));
            named.collect::<Result<_, _>>()?
        }
    };
    let mut all = vec![Found {
        place: "configuration".to_owned(),
        findings: vec![doctor::configuration(&settings)],
    }];
    output::progress("looking at the database");
    all.push(Found {
        place: "database".to_owned(),
        findings: vec![database(args, &settings).await],
    });
    if args.destinations.is_empty() {
        all.extend(imports(args, &settings).await);
    }
    all.extend(destinations(args, &routes).await);
    output::progress_done();
    tell(&all, args.json);
    let mut findings = all.iter().flat_map(|found| &found.findings);
    Ok(match findings.any(|finding| finding.grade == Grade::Problem) {
        true => Exit::Failed,
        false => Exit::Done,
    })
}

/// The tables that are to be taken over, one after the other: there are few.
async fn imports(args: &CheckArgs, settings: &Settings) -> Vec<Found> {
    let mut all = Vec::new();
    for (name, import) in &settings.imports {
        output::progress(&format!("looking at the table of import.{name}"));
        let look = tokio::time::timeout(args.timeout, import::probe(name, import, settings));
        all.push(Found {
            place: format!("import.{name}"),
            findings: vec![look.await.unwrap_or_else(|_| {
                let limit = duration::display(args.timeout);
                let what = format!("its database does not answer within {limit}");
                Finding::problem("table", what, FIREWALL)
            })],
        });
    }
    all
}

/// Side by side, and told in their order.
async fn destinations(args: &CheckArgs, routes: &[(&str, &Route)]) -> Vec<Found> {
    let count = routes.len();
    let looks = routes
        .iter()
        .enumerate()
        .map(|(place, (name, route))| async move {
            let found = Found {
                place: (*name).to_owned(),
                findings: destination(args, name, route).await,
            };
            (place, found)
        });
    let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
    let mut done = Vec::with_capacity(count);
    output::progress(&format!("looked at 0 of {count} destinations"));
    while let Some(found) = looks.next().await {
        done.push(found);
        output::progress(&format!("looked at {} of {count} destinations", done.len()));
    }
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, found)| found).collect()
}

async fn destination(args: &CheckArgs, name: &str, route: &Route) -> Vec<Finding> {
    let probe = route.destination.probe(args.timeout);
    let Ok(mut findings) = tokio::time::timeout(args.timeout + GRACE, probe).await else {
        let limit = duration::display(args.timeout);
        return vec![Finding::problem(
            "connection",
            format!("no end of the look within {limit}"),
            "give --timeout more",
        )];
    };
    if findings.is_empty() {
        let what = format!("nothing to look at: its type is {}", route.destination.kind());
        findings.push(Finding::good("type", what));
    }
    let broken = findings.iter().any(|finding| finding.grade == Grade::Problem);
    if args.send && !broken {
        findings.push(sent(name, route).await);
    }
    findings
}

async fn sent(name: &str, route: &Route) -> Finding {
    match Test::to(name).send(route).await {
        Ok(tried) if tried.is_delivered() => {
            let took = readable::duration(tried.took);
            Finding::good("message", format!("{} was delivered in {took}", tried.id))
        }
        Ok(tried) => {
            let next = format!("try again with `redeliver destination test {name}`");
            Finding::problem("message", format!("{}: {}", tried.id, tried.told()), &next)
        }
        Err(error) => {
            let next = format!("send one that it takes: `redeliver destination test {name} --payload …`");
            Finding::problem("message", error.to_string(), &next)
        }
    }
}

async fn database(args: &CheckArgs, settings: &Settings) -> Finding {
    let address = redeliver::address::shown(&settings.database);
    match tokio::time::timeout(args.timeout, version(args)).await {
        Ok(Ok((there, newest))) if there == newest => Finding::good(
            "tables",
            format!("{address} answers, with tables of version {there}"),
        ),
        Ok(Ok((there, newest))) => Finding::problem(
            "tables",
            format!("{address} answers, with tables of version {there}; this program's are {newest}"),
            match there < newest {
                true => "run `redeliver migrate`",
                false => "use the program of the version that made them",
            },
        ),
        Ok(Err(error)) => finding::failed("connection", &error),
        Err(_) => Finding::problem(
            "connection",
            format!(
                "{address} does not answer within {}",
                duration::display(args.timeout)
            ),
            FIREWALL,
        ),
    }
}

/// The version of the tables that are there, and this program's.
async fn version(args: &CheckArgs) -> anyhow::Result<(u32, u32)> {
    let outbox = args.database.open().await?;
    let desk = outbox.desk();
    let newest = desk.migrations(desk.usual_layout());
    let newest = newest.last().map_or(0, |step| step.version);
    let there = desk.version().await.map_err(|error| outbox.named(error.into()))?;
    Ok((there, newest))
}

/// A finding, and where.
#[derive(Serialize)]
struct Placed<'a> {
    #[serde(flatten)]
    finding: finding::FindingForm<'a>,
    place: &'a str,
}

fn tell(all: &[Found], as_json: bool) {
    let rows = all
        .iter()
        .flat_map(|found| found.findings.iter().map(|finding| (&*found.place, finding)));
    if as_json {
        for (place, finding) in rows {
            output::json(&Placed {
                finding: finding::FindingForm::of(finding),
                place,
            });
        }
        return;
    }
    let mut table = table(["where", "what", "is", "found"], 4);
    let mut steps = String::new();
    for (place, finding) in rows {
        let place = readable::line(place, 40);
        table.add_row([
            &place,
            finding.topic,
            finding::grade(finding.grade),
            &readable::line(&finding.what, usize::MAX),
        ]);
        if !finding.next.is_empty() {
            let next = readable::line(&finding.next, usize::MAX);
            steps.push_str(&format!("\n{place}, {}: {next}", finding.topic));
        }
    }
    let steps = if steps.is_empty() {
        steps
    } else {
        format!("\n\nNext steps:{steps}")
    };
    output::line(&format!("{}{steps}", table.trim_fmt()));
}
