use super::*;

const A: Range = Range {
    shard: 1,
    above: 0,
    to: 10,
};
const B: Range = Range {
    shard: 1,
    above: 10,
    to: 20,
};

fn at(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

fn list(filled_at: i64, writers: &[u64]) -> Listing {
    Listing {
        filled_at: Timestamp::from_millis(filled_at),
        writers: writers.iter().copied().collect(),
    }
}

fn passed() -> Segments {
    let mut segments = Segments::new();
    segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
    segments.looked(at(40), false);
    segments.looked(at(200), false);
    segments
}

#[test]
fn a_segment_is_looked_at_soon_and_then_waits_for_a_list() {
    let mut segments = Segments::new();
    segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
    assert!(segments.due(at(39), false).is_empty());
    assert_eq!(segments.due(at(40), false), [A]);
    segments.looked(at(40), false);
    assert!(segments.due(at(199), false).is_empty());
    segments.looked(at(200), false);
    assert!(segments.due(at(799), false).is_empty());
    assert!(!segments.want_listing(at(999)) && segments.want_listing(at(1000)));
    assert!(
        segments.covers(1, 1) && segments.covers(1, 10) && !segments.covers(1, 11) && !segments.covers(2, 5)
    );
}

#[test]
fn a_list_from_before_the_grace_is_over_tells_nothing() {
    let mut segments = passed();
    segments.observe(&list(50_999, &[]));
    segments.looked(at(1000), true);
    assert!(segments.covers(1, 5));
    segments.observe(&list(51_000, &[]));
    assert_eq!(segments.due(at(1001), false), [A]);
    segments.looked(at(1001), false);
    assert!(!segments.covers(1, 5));
}

#[test]
fn it_is_looked_at_when_one_of_its_writers_ends_and_dropped_when_all_have() {
    let mut segments = passed();
    segments.observe(&list(51_000, &[7, 8]));
    segments.looked(at(1000), false);
    segments.observe(&list(52_000, &[7, 8, 9]));
    assert!(segments.due(at(2000), false).is_empty());
    segments.observe(&list(53_000, &[8, 9]));
    assert_eq!(segments.due(at(2001), false), [A]);
    segments.looked(at(3000), false);
    // 9 began later and has no number in this range.
    segments.observe(&list(54_000, &[9]));
    segments.looked(at(4000), false);
    assert!(segments.lowest(1).is_none());
}

#[test]
fn an_older_list_is_not_believed() {
    let mut segments = passed();
    segments.observe(&list(52_000, &[7]));
    segments.looked(at(1000), false);
    segments.observe(&list(51_500, &[]));
    assert!(segments.due(at(1100), false).is_empty() && segments.covers(1, 5));
}

#[test]
fn under_a_long_writer_there_is_one_segment_which_is_hardly_read_again() {
    let mut segments = Segments::new();
    let mut looks = 0;
    for second in 0..600_u64 {
        let (now, clock) = (at(second * 1000), i64::try_from(second * 1000).unwrap());
        let above = i64::try_from(second * 100).unwrap();
        let range = Range {
            shard: 3,
            above,
            to: above + 100,
        };
        segments.observe(&list(clock, &[7, 1000 + second]));
        looks += usize::from(segments.due(now, false).iter().any(|range| range.above == 0));
        segments.looked(now, false);
        segments.pass(&[range], now, Timestamp::from_millis(clock));
    }
    assert!(looks < 12, "{looks}");
    assert!(segments.open.len() < 6, "{}", segments.open.len());
    assert_eq!(segments.lowest(3), Some(0));
    segments.observe(&list(10_000_000, &[]));
    let whole = Range {
        shard: 3,
        above: 0,
        to: 60_000,
    };
    assert_eq!(segments.due(at(10_000_000), false), [whole]);
    segments.looked(at(10_000_000), false);
    assert_eq!(segments.lowest(3), None);
}

#[test]
fn if_no_new_list_ever_comes_it_is_looked_at_ever_more_rarely_and_kept() {
    let mut segments = Segments::new();
    segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
    let mut looks = 0;
    for millis in (0..3_600_000).step_by(100) {
        segments.observe(&list(50_000, &[]));
        looks += usize::from(!segments.due(at(millis), false).is_empty());
        segments.looked(at(millis), false);
    }
    assert!((5..12).contains(&looks), "{looks}");
    assert!(segments.covers(1, 1));
}

#[test]
fn blind_it_is_kept_for_the_longest_transaction_and_rarely_read() {
    let mut segments = Segments::new();
    segments.go_blind(Duration::from_secs(300));
    segments.pass(&[A], at(0), Timestamp::default());
    let mut looks = 0;
    for millis in (0..300_000).step_by(20) {
        looks += usize::from(!segments.due(at(millis), false).is_empty());
        segments.looked(at(millis), false);
    }
    assert!(looks < 10 && segments.covers(1, 1), "{looks}");
    assert_eq!(segments.due(at(300_000), false), [A]);
    segments.looked(at(300_000), false);
    assert!(!segments.covers(1, 1));
}

#[test]
fn neighbours_are_read_as_one_and_a_lost_shard_is_forgotten() {
    let mut segments = Segments::new();
    segments.pass(&[A], at(0), Timestamp::default());
    segments.pass(&[B], at(500), Timestamp::default());
    assert_eq!(
        segments.due(at(9000), true),
        [Range {
            shard: 1,
            above: 0,
            to: 20
        }]
    );
    segments.forget(1);
    assert!(segments.due(at(9000), true).is_empty() && segments.lowest(1).is_none());
}
