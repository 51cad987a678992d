use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn snapshot(text: &str) -> Snapshot {
    Snapshot::parse(text).unwrap()
}

fn span(beyond: i64, up_to: i64) -> Span {
    Span {
        shard: 0,
        beyond,
        up_to,
    }
}

#[test]
fn a_snapshot_is_read_as_postgresql_writes_it() {
    let none = snapshot("10:10:");
    assert_eq!((none.beyond, none.running.len()), (10, 0));
    assert_eq!(snapshot("10:20:10,14").running, [10, 14]);
    for text in ["", "10", "10:20", "10:x:", "10:20:a"] {
        assert_eq!(Snapshot::parse(text), None, "{text}");
    }
}

#[test]
fn the_next_transaction_is_found_across_a_wrap() {
    let near = Snapshot {
        beyond: (7 << 32) - 2,
        running: Vec::new(),
    };
    assert_eq!(near.next(u32::MAX), (7 << 32) - 1);
    assert_eq!(near.next(3), (7 << 32) + 3);
}

/// The trap: transactions beyond the last that ended are in no snapshot's list.
#[test]
fn a_transaction_beyond_the_snapshot_is_waited_for() {
    let pending = Pending::at(&snapshot("10:10:"), 12);
    let mut segments = Segments::default();
    segments.pass(&pending, span(0, 5), vec![3, 5]);
    assert!(segments.to_read(&snapshot("10:10:")).is_empty());
    let first_ended = snapshot("11:11:");
    assert_eq!(segments.to_read(&first_ended), [span(0, 5)]);
    assert_eq!(segments.unknown(&[(0, 2), (0, 3)], &first_ended), [(0, 2)]);
    segments.have_read(&[(0, 2), (0, 3)], &first_ended);
    assert!(segments.to_read(&first_ended).is_empty());
    assert_eq!(segments.to_read(&snapshot("12:12:")), [span(0, 5)]);
    segments.have_read(&[], &snapshot("12:12:"));
    assert!(segments.0.is_empty());
}

#[test]
fn a_savepoint_ends_without_a_sign_and_its_transaction_is_still_waited_for() {
    // 10 is a transaction, 11 its savepoint, 12 another transaction that has ended: the list holds transactions only.
    let pending = Pending::at(&snapshot("10:10:"), 12);
    let later = snapshot("10:13:10");
    assert!(pending.has_ended(&later));
    assert_eq!(pending.still(&later), Pending::new(vec![10], 0..0));
}

#[test]
fn what_waits_for_the_same_is_one_segment() {
    let held = Pending::at(&snapshot("10:20:10"), 20);
    let mut segments = Segments::default();
    for step in 0..100 {
        segments.pass(&held, span(step * 10, step * 10 + 10), vec![step * 10 + 1]);
    }
    assert_eq!(segments.0.len(), 1);
    assert_eq!(segments.to_read(&snapshot("30:30:")), [span(0, 1000)]);
}

#[test]
fn what_is_gone_is_not_remembered_for_ever() {
    let held = Pending::at(&snapshot("10:20:10"), 20);
    let now = snapshot("10:30:10");
    let mut segments = Segments::default();
    let many = i64::try_from(CROWD).unwrap() + 1;
    segments.pass(&held, span(0, many), (1..=many).collect());
    assert_eq!(segments.to_read(&now), [span(0, many)]);
    segments.have_read(&[(0, 7)], &now);
    assert!(segments.to_read(&now).is_empty());
    let after = snapshot("30:30:");
    assert_eq!(segments.unknown(&[(0, 7), (0, 8)], &after), [(0, 8)]);
}

#[test]
fn rows_returned_in_another_way_are_not_returned_again() {
    let pending = Pending::at(&snapshot("10:11:10"), 11);
    let mut segments = Segments::default();
    segments.pass(&pending, span(0, 9), vec![9]);
    segments.remember(&[(0, 4), (1, 5)]);
    let after = snapshot("11:11:");
    assert_eq!(segments.unknown(&[(0, 4), (0, 5), (0, 9)], &after), [(0, 5)]);
    segments.forget(0);
    assert!(segments.to_read(&after).is_empty());
}

/// What a server does, as far as a reader can tell: transactions begin, take numbers, and end in any order.
#[derive(Clone, Debug)]
enum Step {
    Begin,
    Insert { transaction: usize },
    Savepoint,
    End { transaction: usize, commits: bool },
    Read { limit: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Begin),
        4 => (0_usize..8).prop_map(|transaction| Step::Insert { transaction }),
        1 => Just(Step::Savepoint),
        3 => (0_usize..8, prop::bool::weighted(0.8)).prop_map(|(transaction, commits)| Step::End { transaction, commits }),
        3 => (1_usize..5).prop_map(|limit| Step::Read { limit }),
    ]
}

#[derive(Default)]
struct Server {
    next_xid: u64,
    next_number: i64,
    last_ended: u64,
    open: BTreeMap<u64, Vec<(u16, i64)>>,
    visible: BTreeSet<(u16, i64)>,
}

impl Server {
    fn snapshot(&self) -> Snapshot {
        let beyond = self.last_ended + 1;
        let running = self.open.keys().copied().filter(|&xid| xid < beyond).collect();
        Snapshot { beyond, running }
    }

    fn pick(&self, transaction: usize) -> Option<u64> {
        self.open
            .keys()
            .copied()
            .nth(transaction % self.open.len().max(1))
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Begin => {
                self.open.insert(self.next_xid, Vec::new());
                self.next_xid += 1;
            }
            Step::Savepoint => self.next_xid += u64::from(!self.open.is_empty()),
            Step::Insert { transaction } => {
                if let Some(rows) = self.pick(transaction).and_then(|xid| self.open.get_mut(&xid)) {
                    rows.push((u16::from(self.next_number % 3 == 0), self.next_number));
                    self.next_number += 1;
                }
            }
            Step::End { transaction, commits } => {
                if let Some(xid) = self.pick(transaction) {
                    let rows = self.open.remove(&xid).unwrap_or_default();
                    self.last_ended = self.last_ended.max(xid);
                    if commits {
                        self.visible.extend(rows);
                    }
                }
            }
            Step::Read { .. } => {}
        }
    }
}

#[derive(Default)]
struct Model {
    cursors: [i64; 2],
    segments: Segments,
    returned: Vec<(u16, i64)>,
}

impl Model {
    fn read(&mut self, server: &Server, limit: usize) {
        let now = server.snapshot();
        let spans = self.segments.to_read(&now);
        let found: Vec<(u16, i64)> = server
            .visible
            .iter()
            .copied()
            .filter(|&row| spans.iter().any(|span| !span.of(&[row]).is_empty()))
            .collect();
        self.returned.extend(self.segments.unknown(&found, &now));
        self.segments.have_read(&found, &now);
        let pending = Pending::at(&now, server.next_xid);
        for shard in 0..2_u16 {
            let cursor = &mut self.cursors[usize::from(shard)];
            let rows: Vec<i64> = server
                .visible
                .range((shard, *cursor + 1)..(shard + 1, 0))
                .take(limit)
                .map(|row| row.1)
                .collect();
            if let Some(&last) = rows.last() {
                let beyond = std::mem::replace(cursor, last);
                self.returned.extend(rows.iter().map(|&number| (shard, number)));
                let span = Span {
                    shard,
                    beyond,
                    up_to: last,
                };
                self.segments.pass(&pending, span, rows);
            }
        }
    }
}

proptest! {
    #[test]
    fn every_committed_row_is_returned_once(steps in prop::collection::vec(step(), 1..120)) {
        let mut server = Server { next_xid: 3, next_number: 1, last_ended: 2, ..Server::default() };
        let mut model = Model::default();
        for step in &steps {
            server.run(step);
            if let Step::Read { limit } = *step {
                model.read(&server, limit);
            }
        }
        while !server.open.is_empty() {
            server.run(&Step::End { transaction: 0, commits: true });
        }
        // One more transaction ends, so that everything before it is known to have ended.
        server.run(&Step::Begin);
        server.run(&Step::End { transaction: 0, commits: true });
        for _ in 0..=steps.len() {
            model.read(&server, 5);
        }
        let mut returned = model.returned.clone();
        returned.sort_unstable();
        prop_assert_eq!(returned, server.visible.iter().copied().collect::<Vec<_>>());
        prop_assert!(model.segments.0.is_empty(), "{:?}", model.segments);
    }
}
