use proptest::prelude::*;

use super::*;
use crate::limits::JOB_LATELY;

fn tally(matched: u64, released: u64, delivered: u64, failing: u64, failed: u64) -> Tally {
    Tally {
        matched,
        released,
        delivered,
        failing,
        failed,
    }
}

/// Judged by all of it alone, as it is while there are not many.
fn judged(all: Tally) -> Judged {
    Judged {
        all,
        lately: Tally::default(),
    }
}

#[test]
fn the_first_few_are_waited_for_and_then_it_grows() {
    let plan = JobPlan::default();
    let canary = |tally| decide(&plan, JobState::Canary, &judged(tally), 5, false);
    assert_eq!(
        decide(&plan, JobState::Canary, &judged(tally(100, 0, 0, 0, 0)), 0, false),
        Decision::Release(5)
    );
    assert_eq!(canary(tally(100, 5, 4, 0, 0)), Decision::Wait);
    assert_eq!(canary(tally(100, 5, 5, 0, 0)), Decision::Release(10));
    let ramping = |tally, wave| decide(&plan, JobState::Ramping, &judged(tally), wave, false);
    assert_eq!(ramping(tally(100, 15, 5, 0, 0), 10), Decision::Release(20));
    assert_eq!(ramping(tally(100, 35, 15, 0, 0), 20), Decision::Release(40));
    assert_eq!(ramping(tally(100, 75, 40, 0, 0), 40), Decision::Release(25));
    assert_eq!(ramping(tally(100, 100, 99, 0, 0), 25), Decision::Wait);
    assert_eq!(ramping(tally(100, 100, 98, 1, 1), 25), Decision::Finish);
}

#[test]
fn it_stops_when_more_than_its_share_fails() {
    let plan = JobPlan::default();
    let next = |tally| decide(&plan, JobState::Canary, &judged(tally), 5, false);
    // One of five is a fifth, and not more.
    assert_eq!(next(tally(100, 5, 4, 0, 1)), Decision::Release(10));
    assert_eq!(next(tally(100, 5, 3, 1, 1)), Decision::Stop);
    // Too few to judge by.
    assert_eq!(next(tally(100, 5, 0, 4, 0)), Decision::Wait);
    // What fails at the end stops it too: it is not done.
    assert_eq!(next(tally(5, 5, 3, 0, 2)), Decision::Stop);
}

#[test]
fn a_canary_that_others_made_smaller_is_judged_by_what_is_left_of_it() {
    let plan = JobPlan::default();
    let next = |tally, exhausted| decide(&plan, JobState::Canary, &judged(tally), 5, exhausted);
    assert_eq!(next(tally(100, 2, 0, 1, 1), false), Decision::Stop);
    assert_eq!(next(tally(100, 2, 0, 1, 0), false), Decision::Release(3));
    assert_eq!(next(tally(100, 2, 2, 0, 0), false), Decision::Release(3));
    assert_eq!(next(tally(100, 5, 4, 0, 0), false), Decision::Wait);
    // There is nothing left to be careful with.
    assert_eq!(next(tally(2, 2, 1, 1, 0), true), Decision::Finish);
}

#[test]
fn what_went_well_for_long_does_not_hide_what_fails_now() {
    let plan = JobPlan::default();
    let next = |lately| {
        let all = tally(100_000, 81_000, 80_000, 500, 0);
        decide(&plan, JobState::Ramping, &Judged { all, lately }, 1000, false)
    };
    assert_eq!(next(tally(0, 1000, 800, 200, 0)), Decision::Release(1000));
    assert_eq!(next(tally(0, 1000, 500, 500, 0)), Decision::Stop);
    // Too few to judge by.
    assert_eq!(next(tally(0, 4, 0, 4, 0)), Decision::Release(1000));
}

#[test]
fn without_a_canary_all_come_at_once_in_batches() {
    let plan = JobPlan {
        canary: 0,
        ..JobPlan::default()
    };
    let many = 10 * JOB_BATCH as u64;
    let next = |tally| decide(&plan, JobState::Ramping, &judged(tally), 0, false);
    assert_eq!(next(tally(many, 0, 0, 0, 0)), Decision::Release(JOB_BATCH));
    assert_eq!(
        next(tally(many, JOB_BATCH as u64, 0, 0, 0)),
        Decision::Release(JOB_BATCH)
    );
    let waiting = JOB_BACKLOG as u64;
    assert_eq!(next(tally(2 * waiting, waiting, 0, 0, 0)), Decision::Wait);
}

#[test]
fn a_plan_that_nobody_could_follow_is_refused_by_name() {
    assert_eq!(JobPlan::default().validate(), Ok(()));
    let with = |change: fn(&mut JobPlan)| {
        let mut plan = JobPlan::default();
        change(&mut plan);
        plan.validate().map_err(|wrong| wrong.to_string()).unwrap_err()
    };
    assert!(with(|plan| plan.canary = 1_000_000).contains("canary"));
    assert!(with(|plan| plan.factor = 0).contains("factor"));
    assert!(with(|plan| plan.interval = Duration::MAX).contains("interval"));
    assert!(with(|plan| plan.stop_permille = 1001).contains("share"));
}

#[test]
fn a_job_that_goes_on_is_where_it_was() {
    let plan = JobPlan::default();
    assert_eq!(resumed(&plan, &tally(9, 5, 0, 0, 0)), JobState::Canary);
    assert_eq!(resumed(&plan, &tally(99, 15, 0, 0, 0)), JobState::Ramping);
    for word in ["canary", "ramping", "paused", "done", "stopped", "cancelled"] {
        assert_eq!(word.parse::<JobState>().unwrap().as_str(), word);
    }
    assert!("running".parse::<JobState>().is_err());
}

/// What has become of one message.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Waiting,
    Failing,
    Failed,
    Delivered,
}

fn count<'a>(matched: u64, fates: impl Iterator<Item = &'a Fate>) -> Tally {
    let mut tally = tally(matched, 0, 0, 0, 0);
    for fate in fates {
        tally.released += 1;
        match fate {
            Fate::Waiting => {}
            Fate::Failing => tally.failing += 1,
            Fate::Failed => tally.failed += 1,
            Fate::Delivered => tally.delivered += 1,
        }
    }
    tally
}

/// Those that were let out, in their order.
fn judge(matched: u64, out: &[Fate]) -> Judged {
    let known = out.iter().rev().filter(|fate| **fate != Fate::Waiting);
    Judged {
        all: count(matched, out.iter()),
        lately: count(0, known.take(JOB_LATELY)),
    }
}

#[test]
fn a_destination_that_breaks_late_is_noticed_at_once() {
    let (plan, matched, well) = (JobPlan::default(), 100_000, 80_000);
    let (mut out, mut wave) = (Vec::new(), 0);
    while let Decision::Release(count) = decide(&plan, JobState::Ramping, &judge(matched, &out), wave, false)
    {
        for _ in 0..count {
            let fate = if out.len() < well {
                Fate::Delivered
            } else {
                Fate::Failing
            };
            out.push(fate);
        }
        wave = count as u64;
    }
    assert!(out.len() < well + 2 * JOB_BATCH, "{}", out.len());
}

proptest! {
    /// However messages fare and whatever other operators take: a job ends, lets out no more than matched, nothing but its canary before
    /// that is known, never more than its factor allows, and nothing once too many have failed, of all or of the last.
    #[test]
    fn every_job_ends_within_its_bounds(
        matched in 0_u64..3000, canary in 0_u32..50, factor in 1_u32..5, stop_permille in 0_u16..1000,
        failures in 0_u32..100, taken in 0_u64..40, seed: u64,
    ) {
        let plan = JobPlan { canary, factor, interval: Duration::ZERO, stop_permille };
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut state = resumed(&plan, &Tally::default());
        let (mut out, mut wave, mut there) = (Vec::new(), 0_u64, matched.saturating_sub(taken));
        for step in 0.. {
            prop_assert!(step < 100_000, "it never ends: {:?}", judge(matched, &out));
            let heard = chance.usize(0..50) + 1;
            for fate in out.iter_mut().filter(|fate| **fate == Fate::Waiting).take(heard) {
                *fate = if chance.u32(0..100) < failures { Fate::Failing } else { Fate::Delivered };
            }
            if let Some(fate) = out.iter_mut().find(|fate| **fate == Fate::Failing).filter(|_| chance.bool()) {
                *fate = if chance.bool() { Fate::Failed } else { Fate::Delivered };
            }
            let exhausted = there == 0;
            let judged = judge(matched, &out);
            let job = judged.all;
            match decide(&plan, state, &judged, wave, exhausted) {
                Decision::Wait => {}
                Decision::Release(count) => {
                    let count = count as u64;
                    prop_assert!(count > 0 && count <= JOB_BATCH as u64);
                    let first = u64::from(canary);
                    if state == JobState::Canary && job.released < first {
                        prop_assert!(count <= first - job.released);
                    } else if canary > 0 {
                        prop_assert!(state == JobState::Ramping || job.waiting() == 0);
                        prop_assert!(count <= wave.max(first) * u64::from(factor));
                    }
                    let enough = if canary == 0 { JOB_CANARY } else { canary };
                    let enough = if job.waiting() == 0 { 1 } else { u64::from(enough) };
                    for tally in [job, judged.lately] {
                        prop_assert!(tally.decided() < enough || tally.in_vain() * 1000 <= u64::from(stop_permille) * tally.decided());
                    }
                    let free = count.min(there);
                    there -= free;
                    out.resize(out.len() + free as usize, Fate::Waiting);
                    wave = count;
                    prop_assert!(out.len() as u64 <= matched);
                    if out.len() as u64 > first {
                        state = JobState::Ramping;
                    }
                }
                Decision::Stop => {
                    prop_assert!(job.in_vain() > 0);
                    break;
                }
                Decision::Finish => {
                    prop_assert!(job.waiting() == 0 && (there == 0 || job.released == matched));
                    break;
                }
            }
        }
    }
}
