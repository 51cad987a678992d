//! Tables that change behind a relay's back: rows that appear or vanish, copies that take their place.

use super::{LIMITS, Step, World};
use crate::Message;

/// Somebody deletes the row of a scheduled message that others of its lane wait for.
#[test]
fn a_lane_does_not_wait_for_a_message_that_is_gone() {
    let mut world = World::new(LIMITS);
    world.insert(0, 0, Some(0), 30);
    world.insert(0, 0, Some(0), 0);
    for step in [Step::Read, Step::Read, Step::Settle { how_many: 9 }] {
        world.take(step);
    }
    let waiting = |row: &&Message| row.next_attempt_at.is_some();
    let head = world.rows.live.values().find(waiting).unwrap().number();
    world.rows.live.remove(&head);
    let left: Vec<i64> = world.rows.live.keys().copied().collect();
    world.finish();
    assert_eq!(world.rows.delivered, left);
}

/// The reader begins again, and has a backlog to pass before it comes to what a lane has let go.
#[test]
fn a_due_message_waits_until_a_reader_that_begins_again_has_caught_up() {
    let mut world = World::new(LIMITS);
    for _ in 0..60 {
        world.insert(0, 1, None, 0);
    }
    for delay in [0, 0, 0, 0, 1] {
        world.insert(0, 0, Some(0), delay);
    }
    world.take(Step::Turn(0));
    world.take(Step::Turn(1));
    for _ in 0..60 {
        world.take(Step::Read);
        world.take(Step::Settle { how_many: 9 });
    }
    world.take(Step::Pass(5));
    world.take(Step::BeginAgain);
    world.take(Step::Turn(0));
    for _ in 0..20 {
        world.take(Step::End { which: 0, how: 0 });
        world.take(Step::Settle { how_many: 9 });
        world.take(Step::Read);
    }
    world.finish();
}

/// A copy of the tables takes their place that never had the dead letter for which a lane is parked.
#[test]
fn a_lane_is_not_parked_for_a_dead_letter_that_the_tables_never_had() {
    let mut world = World::new(LIMITS);
    world.insert(0, 0, Some(0), 0);
    let park = Step::End { which: 0, how: 7 };
    for step in [Step::Read, Step::Read, park, Step::Settle { how_many: 9 }] {
        world.take(step);
    }
    assert_eq!((world.rows.dead.len(), world.rows.lanes.len()), (1, 1));
    (world.rows.dead, world.rows.lanes) = Default::default();
    world.rows.replaced = true;
    world.insert(0, 0, Some(0), 0);
    let left: Vec<i64> = world.rows.live.keys().copied().collect();
    world.finish();
    assert_eq!(world.rows.delivered, left);
}

/// A copy of the tables, from before a message was scheduled, takes their place.
#[test]
fn a_lane_does_not_wait_for_a_time_that_the_database_does_not_know() {
    let mut world = World::new(LIMITS);
    world.insert(0, 0, Some(0), 30);
    world.insert(0, 0, Some(0), 0);
    let copy = world.rows.live.clone();
    for step in [Step::Read, Step::Read, Step::Settle { how_many: 9 }] {
        world.take(step);
    }
    assert!(world.rows.live[&2].next_attempt_at.is_some());
    world.rows.live = copy;
    world.finish();
    assert_eq!(world.rows.delivered, [2, 4]);
}

/// A forged number behind the cursor, in a lane whose other messages are done, and without a key.
#[test]
fn a_row_that_appears_behind_the_cursor_is_sent() {
    for key in [Some(0), None] {
        let mut world = World::new(LIMITS);
        for _ in 0..3 {
            world.insert(0, 0, key, 0);
        }
        world.finish();
        world.forge(0, 0, key, 2);
        world.finish();
        assert_eq!(world.rows.delivered, [2, 4, 6, 3]);
    }
}

/// The row of a message that was settled while the read was under way is not taken for another one.
#[test]
fn a_look_from_before_a_settle_sends_nothing_twice() {
    for key in [Some(0), None] {
        let mut world = World::new(LIMITS);
        world.insert(0, 0, key, 0);
        world.insert(0, 2, key, 0);
        for step in [Step::Read, Step::Read, Step::Read] {
            world.take(step);
        }
        let found = world.reading.as_ref().map(|(_, found)| found.behind.len());
        assert_eq!(found, Some(2), "both are behind the cursor");
        world.end(0, 0);
        for step in [Step::Settle { how_many: 9 }, Step::Read] {
            world.take(step);
        }
        assert!(world.on_the_way.is_empty() && world.rows.live.is_empty());
        world.finish();
        assert_eq!(world.rows.delivered, [2]);
    }
}
