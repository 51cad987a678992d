//! Nothing lost, nothing twice, every key in order: from what was put down, after the end.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write as _,
};

use crate::{
    ledger::{Ledger, Row},
    log::{How, Log, Ownership, Returned},
};

/// So many failures are told in full.
const TOLD: usize = 8;

pub(crate) struct Judge {
    committed: Vec<Row>,
    rolled_back: HashSet<u64>,
    transactions: u64,
    refusals: u64,
    /// By shard and epoch.
    ownerships: Vec<Ownership>,
    rows: HashMap<i64, Row>,
    /// In which ownerships each version of a key was settled, and whether it was delivered.
    settled: HashMap<String, Vec<Vec<(usize, bool)>>>,
    failures: Vec<(String, Option<Row>)>,
}

impl Judge {
    pub(crate) fn new(ledger: &Ledger, log: &Log) -> Self {
        let (transactions, _) = ledger.transactions();
        let mut judge = Self {
            committed: ledger.committed(),
            rolled_back: ledger.rolled_back(),
            transactions,
            refusals: log.refusals(),
            ownerships: log.ownerships(),
            rows: HashMap::new(),
            settled: HashMap::new(),
            failures: Vec::new(),
        };
        for ownership in &judge.ownerships {
            for returned in &ownership.returned {
                judge.rows.insert(returned.number, returned.row.clone());
            }
        }
        for (at, ownership) in judge.ownerships.iter().enumerate() {
            for written in &ownership.written {
                if let Some(key) = &written.row.key {
                    let versions = judge.settled.entry(key.clone()).or_default();
                    let version = usize::try_from(written.row.version).unwrap();
                    versions.resize(versions.len().max(version + 1), Vec::new());
                    versions[version].push((at, written.delivered));
                }
            }
        }
        judge
    }

    /// How many rows with a key were committed.
    pub(crate) fn keyed(&self) -> i64 {
        let keyed = self.committed.iter().filter(|row| row.key.is_some()).count();
        i64::try_from(keyed).unwrap()
    }

    pub(crate) fn figures(&self) -> String {
        let shards: BTreeSet<u16> = self.ownerships.iter().map(|of| of.lease.shard).collect();
        let returned = |how| {
            let all = self.ownerships.iter().flat_map(|ownership| &ownership.returned);
            all.filter(|returned| returned.how == how).count()
        };
        format!(
            "{} rows in {} transactions ({} more rolled back); {} read, {} of them late, {} again by their lanes, {} due; {} takeovers, {} late settles refused",
            self.committed.len(),
            self.transactions - self.rolled_back.len() as u64,
            self.rolled_back.len(),
            returned(How::Fresh),
            self.ownerships.iter().map(late).sum::<usize>(),
            returned(How::Lane),
            returned(How::Due),
            self.ownerships.len() - shards.len(),
            self.refusals,
        )
    }

    pub(crate) fn judge(mut self) {
        self.rows();
        self.deliveries();
        for at in 0..self.ownerships.len() {
            self.once(at);
            self.order(at);
            self.fence(at);
        }
        if self.failures.is_empty() {
            return;
        }
        let mut told = format!("{} failures\n", self.failures.len());
        for (what, row) in self.failures.iter().take(TOLD) {
            writeln!(told, "{what}").unwrap();
            if let Some(row) = row {
                told.push_str(&self.history(row));
            }
        }
        panic!("{told}");
    }

    fn fail(&mut self, what: String, row: Option<&Row>) {
        self.failures.push((what, row.cloned()));
    }

    /// Only what was committed is ever returned.
    fn rows(&mut self) {
        let committed: HashSet<&Row> = self.committed.iter().collect();
        let strange: BTreeSet<Row> = self
            .ownerships
            .iter()
            .flat_map(|ownership| &ownership.returned)
            .filter(|returned| !committed.contains(&returned.row))
            .map(|returned| returned.row.clone())
            .collect();
        for row in strange {
            let rolled_back = self.rolled_back.contains(&row.transaction);
            let why = if rolled_back {
                "was rolled back"
            } else {
                "nobody wrote"
            };
            self.fail(format!("{row}, which {why}, was read"), Some(&row));
        }
    }

    /// Everything that was committed is delivered once, and every key in the order of its versions.
    fn deliveries(&mut self) {
        let mut times: HashMap<Row, usize> = HashMap::new();
        let mut reached: HashMap<String, u64> = HashMap::new();
        let mut overtaken = Vec::new();
        let written = self.ownerships.iter().flat_map(|ownership| &ownership.written);
        for written in written.filter(|written| written.delivered) {
            *times.entry(written.row.clone()).or_default() += 1;
            if let Some(key) = &written.row.key {
                let reached = reached.entry(key.clone()).or_default();
                if written.row.version != *reached + 1 {
                    overtaken.push((*reached, written.row.clone()));
                }
                *reached = written.row.version;
            }
        }
        for (before, row) in overtaken {
            self.fail(format!("{row} was delivered after version {before}"), Some(&row));
        }
        let wrong: Vec<(Row, usize)> = self
            .committed
            .iter()
            .map(|row| (row.clone(), times.get(row).copied().unwrap_or(0)))
            .filter(|&(_, times)| times != 1)
            .collect();
        for (row, times) in wrong {
            let what = if times == 0 {
                "was lost".to_owned()
            } else {
                format!("was delivered {times} times")
            };
            self.fail(format!("{row} {what}"), Some(&row));
        }
    }

    /// Within an ownership a message is fresh once; and never if it was settled in one before.
    fn once(&mut self, at: usize) {
        let ownership = self.ownerships[at].clone();
        let shard = ownership.lease.shard;
        let before = self.ownerships[..at]
            .iter()
            .filter(|other| other.lease.shard == shard);
        let settled: HashSet<i64> = before
            .flat_map(|other| &other.written)
            .map(|written| written.number)
            .collect();
        let gone: HashSet<i64> = self.ownerships[..at]
            .iter()
            .filter(|other| other.lease.shard == shard)
            .flat_map(|other| &other.written)
            .filter(|written| written.delivered)
            .map(|written| written.number)
            .collect();
        let mut known = HashSet::new();
        for returned in &ownership.returned {
            let number = returned.number;
            let row = Some(&returned.row);
            let epoch = ownership.lease.epoch;
            if returned.how == How::Fresh && known.contains(&number) {
                self.fail(
                    format!("number {number} was read twice in epoch {epoch} of shard {shard}"),
                    row,
                );
            }
            if gone.contains(&number) || (returned.how == How::Fresh && settled.contains(&number)) {
                self.fail(
                    format!("number {number} was settled before epoch {epoch} of shard {shard} read it"),
                    row,
                );
            }
            known.insert(number);
        }
        for number in &ownership.unread {
            let row = self.rows.get(number).cloned();
            let epoch = ownership.lease.epoch;
            self.fail(
                format!("number {number} was committed, and never read in epoch {epoch} of shard {shard}"),
                row.as_ref(),
            );
        }
        for returned in &ownership.odd {
            let (row, epoch) = (&returned.row, ownership.lease.epoch);
            // One who reads on after a takeover meets what its successor schedules.
            if self.next(at).is_none_or(|next| next.claimed.0 > returned.at) {
                let what = format!("{row} was due out of its turn in epoch {epoch} of shard {shard}");
                self.fail(what, Some(row));
            }
        }
    }

    /// The next epoch of the same shard.
    fn next(&self, at: usize) -> Option<&Ownership> {
        let shard = self.ownerships[at].lease.shard;
        self.ownerships
            .get(at + 1)
            .filter(|next| next.lease.shard == shard)
    }

    /// A message is returned only if all before it in its lane were, or had been settled, or waited for their time.
    fn order(&mut self, at: usize) {
        let ownership = self.ownerships[at].clone();
        let waiting: HashSet<&Row> = ownership
            .scheduled
            .iter()
            .filter_map(|number| self.rows.get(number))
            .collect();
        let waiting: HashSet<(&str, u64)> = waiting
            .iter()
            .filter_map(|row| Some((row.key.as_deref()?, row.version)))
            .collect();
        let mut known: HashSet<&Row> = HashSet::new();
        let mut reached: HashMap<&str, u64> = HashMap::new();
        let mut failures = Vec::new();
        for returned in &ownership.returned {
            let Some(key) = returned.row.key.as_deref() else {
                continue;
            };
            if !known.insert(&returned.row) {
                continue;
            }
            let version = returned.row.version;
            let reached = reached.entry(key).or_default();
            let waited = waiting.contains(&(key, version));
            if version <= *reached && !waited {
                failures.push((
                    format!("{} was read after version {reached}", returned.row),
                    returned.row.clone(),
                ));
            }
            for skipped in *reached + 1..version {
                let excused =
                    waiting.contains(&(key, skipped)) || self.was_settled(key, skipped, at, returned);
                if !excused {
                    let what = format!("{} was read before version {skipped}", returned.row);
                    failures.push((what, returned.row.clone()));
                }
            }
            *reached = version.max(*reached);
        }
        self.failures
            .extend(failures.into_iter().map(|(what, row)| (what, Some(row))));
    }

    /// Whether it had been delivered before this ownership, or its successor could have settled it by the time of the read.
    fn was_settled(&self, key: &str, version: u64, at: usize, read: &Returned) -> bool {
        let version = usize::try_from(version).unwrap();
        let settled = self.settled.get(key).and_then(|versions| versions.get(version));
        settled.into_iter().flatten().any(|&(by, delivered)| {
            (by < at && delivered) || (by > at && self.ownerships[by].claimed.0 < read.at)
        })
    }

    /// Nothing is written in an epoch that has passed.
    fn fence(&mut self, at: usize) {
        let ownership = &self.ownerships[at];
        let Some(next) = self.next(at) else {
            return;
        };
        let stale: Vec<Row> = ownership
            .written
            .iter()
            .filter(|written| written.at > next.claimed.1)
            .map(|written| written.row.clone())
            .collect();
        let epoch = ownership.lease.epoch;
        for row in stale {
            self.fail(
                format!("{row} was settled in epoch {epoch} when the next one had begun"),
                Some(&row),
            );
        }
    }

    /// All that happened to a row and its neighbours in the lane.
    fn history(&self, row: &Row) -> String {
        let concerned = |other: &Row| match &row.key {
            Some(_) => other.key == row.key && other.version.abs_diff(row.version) <= 2,
            None => other == row,
        };
        let mut lines = BTreeSet::new();
        for ownership in &self.ownerships {
            let (lease, owner) = (ownership.lease, &ownership.owner);
            let place = format!(
                "shard {} epoch {} ({owner}, claimed at {})",
                lease.shard, lease.epoch, ownership.claimed.1
            );
            for returned in ownership
                .returned
                .iter()
                .filter(|returned| concerned(&returned.row))
            {
                let (number, how) = (returned.number, returned.how);
                lines.insert((
                    returned.at,
                    format!("{how:?} number {number} ({}) in {place}", returned.row),
                ));
            }
            for written in ownership.written.iter().filter(|written| concerned(&written.row)) {
                let what = if written.delivered { "delivered" } else { "retried" };
                lines.insert((
                    written.at,
                    format!("{what} number {} ({}) in {place}", written.number, written.row),
                ));
            }
        }
        lines.iter().fold(String::new(), |mut text, (at, line)| {
            writeln!(text, "    {at:>8}  {line}").unwrap();
            text
        })
    }
}

/// How many fresh rows came behind others of their shard that had been read before.
fn late(ownership: &Ownership) -> usize {
    let (mut highest, mut in_this_read, mut late, mut at) = (0, 0, 0, 0);
    for returned in ownership
        .returned
        .iter()
        .filter(|returned| returned.how == How::Fresh)
    {
        if returned.at != at {
            (at, highest) = (returned.at, highest.max(in_this_read));
        }
        in_this_read = in_this_read.max(returned.number);
        late += usize::from(returned.number < highest);
    }
    late
}
