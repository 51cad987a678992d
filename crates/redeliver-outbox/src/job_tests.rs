use proptest::prelude::*;

use super::*;

fn tally(matched: u64, released: u64, delivered: u64, failing: u64, failed: u64) -> Tally {
    Tally {
        matched,
        released,
        delivered,
        failing,
        failed,
    }
}

#[test]
fn the_first_few_are_waited_for_and_then_it_grows() {
    let plan = JobPlan::default();
    let canary = |tally| decide(&plan, JobState::Canary, &tally, 5, false);
    assert_eq!(
        decide(&plan, JobState::Canary, &tally(100, 0, 0, 0, 0), 0, false),
        Decision::Release(5)
    );
    assert_eq!(canary(tally(100, 5, 4, 0, 0)), Decision::Wait);
    assert_eq!(canary(tally(100, 5, 5, 0, 0)), Decision::Release(10));
    let ramping = |tally, wave| decide(&plan, JobState::Ramping, &tally, wave, false);
    assert_eq!(ramping(tally(100, 15, 5, 0, 0), 10), Decision::Release(20));
    assert_eq!(ramping(tally(100, 35, 15, 0, 0), 20), Decision::Release(40));
    assert_eq!(ramping(tally(100, 75, 40, 0, 0), 40), Decision::Release(25));
    assert_eq!(ramping(tally(100, 100, 99, 0, 0), 25), Decision::Wait);
    assert_eq!(ramping(tally(100, 100, 98, 1, 1), 25), Decision::Finish);
}

#[test]
fn it_stops_when_more_than_its_share_fails() {
    let plan = JobPlan::default();
    let next = |tally| decide(&plan, JobState::Canary, &tally, 5, false);
    // One of five is a fifth, and not more.
    assert_eq!(next(tally(100, 5, 4, 0, 1)), Decision::Release(10));
    assert_eq!(next(tally(100, 5, 3, 1, 1)), Decision::Stop);
    // Too few to judge by.
    assert_eq!(next(tally(100, 5, 0, 4, 0)), Decision::Wait);
    // What fails at the end stops it too: it is not done.
    assert_eq!(next(tally(5, 5, 3, 0, 2)), Decision::Stop);
}

#[test]
fn without_a_canary_all_come_at_once_in_batches() {
    let plan = JobPlan {
        canary: 0,
        ..JobPlan::default()
    };
    let many = 10 * JOB_BATCH as u64;
    let next = |tally| decide(&plan, JobState::Ramping, &tally, 0, false);
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

proptest! {
    /// However messages fare and whatever other operators take: a job ends, lets out no more than matched, nothing but its canary before
    /// that is known, never more than its factor allows, and nothing once too many have failed.
    #[test]
    fn every_job_ends_within_its_bounds(
        matched in 0_u64..3000, canary in 0_u32..50, factor in 1_u32..5, stop_permille in 0_u16..1000,
        failures in 0_u32..100, taken in 0_u64..40, seed: u64,
    ) {
        let plan = JobPlan { canary, factor, interval: Duration::ZERO, stop_permille };
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut state = resumed(&plan, &Tally::default());
        let (mut job, mut wave, mut there) = (tally(matched, 0, 0, 0, 0), 0_u64, matched.saturating_sub(taken));
        for step in 0.. {
            prop_assert!(step < 100_000, "it never ends: {job:?}");
            for _ in 0..job.waiting().min(chance.u64(0..50) + 1) {
                if chance.u32(0..100) < failures { job.failing += 1 } else { job.delivered += 1 }
            }
            if job.failing > 0 && chance.bool() {
                job.failing -= 1;
                if chance.bool() { job.failed += 1 } else { job.delivered += 1 }
            }
            let exhausted = there == 0;
            match decide(&plan, state, &job, wave, exhausted) {
                Decision::Wait => {}
                Decision::Release(count) => {
                    let count = count as u64;
                    prop_assert!(count > 0 && count <= JOB_BATCH as u64);
                    if canary > 0 && job.released > 0 {
                        prop_assert!(state == JobState::Ramping || job.waiting() == 0);
                        prop_assert!(count <= wave.max(canary.into()) * u64::from(factor));
                        state = JobState::Ramping;
                    } else if canary > 0 {
                        prop_assert!(count <= u64::from(canary));
                    }
                    let enough = u64::from(if canary == 0 { JOB_CANARY } else { canary });
                    prop_assert!(job.decided() < enough || job.in_vain() * 1000 <= u64::from(stop_permille) * job.decided());
                    let out = count.min(there);
                    there -= out;
                    job.released += out;
                    wave = count;
                    prop_assert!(job.released <= matched);
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
