use std::{path::PathBuf, time::Duration};

use clap::Args;
use redeliver_lab::occ::{AWS_CLIENTS, AwsFigures, Cell, Contention, Kind, MAX_CLIENTS, MAX_RUNS};
use redeliver_policy::duration;
use serde::Serialize;

use super::{occ_view, parse_seed, refused};
use crate::{
    exit::{BadInput, Exit},
    output,
};

const EXAMPLES: &str = "\
The model is AWS's, of \"Exponential Backoff And Jitter\": one row, optimistic concurrency control, every message |N(10, 2)| ms on \
the way, every client writes once. Calls are the writes that were sent; the time is when the last client knew of its \
success. AWS counts attempts from one, so the first exponential wait is twice the base.

Examples:
  redeliver simulate occ
  redeliver simulate occ --clients 100 --against-aws
  redeliver simulate occ --clients-max 500 --step 50 --kinds full,decorrelated --svg occ.svg
  redeliver simulate occ --base 20ms --max 1s --seed 7 --json";

/// The model by which AWS compared backoffs: clients contending for one row.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Occ {
    /// Numbers of clients, separated by commas [default: 10,20,…,100]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_clients, allow_hyphen_values = true)]
    clients: Option<Vec<u32>>,
    /// Numbers of clients up to this one instead
    #[arg(long, value_name = "N", value_parser = parse_clients, conflicts_with = "clients", allow_hyphen_values = true)]
    clients_max: Option<u32>,
    /// From one number of clients to the next
    #[arg(long, value_name = "N", value_parser = parse_clients, default_value = "10", conflicts_with = "clients", allow_hyphen_values = true)]
    step: u32,
    /// Policies to compare: none, exponential, equal, full and decorrelated [default: all]
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    kinds: Option<Vec<Kind>>,
    /// Runs that each cell is averaged over
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_runs, allow_hyphen_values = true)]
    runs: u32,
    /// AWS's base: half of the first exponential wait
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5ms", allow_hyphen_values = true)]
    base: Duration,
    /// The cap on every wait
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "2000ms", allow_hyphen_values = true)]
    max: Duration,
    /// Where chance starts: the same seed gives the same figures
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_seed, allow_hyphen_values = true)]
    seed: u64,
    /// Set what AWS's own simulator comes to beside the figures for 100 clients
    #[arg(long)]
    against_aws: bool,
    /// Draw it into this file as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A run of more writes than this takes long enough for somebody to ask where it is: a second or two.
const LONG: u64 = 50_000_000;

/// The most numbers of clients that a table has.
const MAX_ROWS: usize = 1_000;

/// One cell beside what AWS's simulator comes to.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) kind: Kind,
    #[serde(flatten)]
    pub(super) aws: AwsFigures,
    /// How far our calls are from AWS's, as a share of them.
    pub(super) calls_off: f64,
    /// How far our time is from AWS's, as a share of it.
    pub(super) time_off: f64,
}

#[derive(Serialize)]
struct Json<'a> {
    rows: &'a [Cell],
    runs: u32,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    against_aws: Option<&'a [Comparison]>,
}

impl Occ {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let contention = self.contention()?;
        let cells = self.cells(&contention)?;
        let compared = self.against_aws.then(|| compared(&cells));
        if let Some(path) = &self.svg {
            output::drawing(path, &occ_view::svg(&contention, &cells))?;
        }
        if self.json {
            output::json(&Json {
                rows: &cells,
                runs: self.runs,
                seed: self.seed,
                against_aws: compared.as_deref(),
            });
        } else {
            output::line(&occ_view::words(&contention, &cells, compared.as_deref()));
        }
        Ok(Exit::Done)
    }

    fn contention(&self) -> Result<Contention, BadInput> {
        let model = Contention::default();
        let clients = match (&self.clients, self.clients_max) {
            (Some(clients), _) => clients.clone(),
            (None, most) => {
                let most = most.unwrap_or(AWS_CLIENTS);
                (self.step.min(most)..=most).step_by(self.step as usize).collect()
            }
        };
        if clients.len() > MAX_ROWS {
            return Err(BadInput(format!(
                "--clients: {} numbers of clients, must be at most {MAX_ROWS}; ask for a wider --step",
                clients.len()
            )));
        }
        let contention = Contention {
            clients: distinct(clients),
            kinds: distinct(self.kinds.clone().unwrap_or(model.kinds)),
            runs: self.runs,
            base: self.base,
            max: self.max,
            seed: self.seed,
        };
        contention.validate().map_err(|error| refused(&error))?;
        let aws = Contention::default();
        let comparable = (contention.base, contention.max) == (aws.base, aws.max)
            && contention.clients.contains(&AWS_CLIENTS);
        if self.against_aws && !comparable {
            return Err(BadInput(format!(
                "--against-aws: its figures are for {AWS_CLIENTS} clients, --base 5ms and --max 2s; leave those as they are"
            )));
        }
        Ok(contention)
    }

    fn cells(&self, contention: &Contention) -> anyhow::Result<Vec<Cell>> {
        let all = contention.clients.len() * contention.kinds.len();
        let long = contention.most_writes() > LONG;
        let mut done = 0;
        let cells = contention.run(|cell| {
            done += 1;
            if long {
                output::progress(&format!(
                    "{done} of {all} cells: {} with {} clients",
                    cell.kind, cell.clients
                ));
            }
        });
        if long {
            output::progress("");
        }
        Ok(cells.map_err(|error| refused(&error))?)
    }
}

fn compared(cells: &[Cell]) -> Vec<Comparison> {
    let off = |ours: f64, theirs: u32| ((ours / f64::from(theirs) - 1.0) * 1e4).round() / 1e4;
    let ours = cells.iter().filter(|cell| cell.clients == AWS_CLIENTS);
    ours.map(|cell| {
        let aws = cell.kind.aws_figures();
        Comparison {
            kind: cell.kind,
            aws,
            calls_off: off(cell.calls, aws.calls),
            time_off: off(cell.time_ms, aws.time_ms),
        }
    })
    .collect()
}

/// What is named twice is worked out once.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

fn parse_clients(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(clients) if (1..=MAX_CLIENTS).contains(&clients) => Ok(clients),
        _ => Err(format!("must be a whole number from 1 to {MAX_CLIENTS}")),
    }
}

fn parse_runs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(runs) if (1..=MAX_RUNS).contains(&runs) => Ok(runs),
        _ => Err(format!("must be a whole number from 1 to {MAX_RUNS}")),
    }
}
