//! The blocking driver and loops of one's own: the same session, on a thread that is held.
//!
//! Real time, so waits are short and only their lower bound is exact.

use std::{cell::Cell, io, sync::Arc, time::Duration};

use redeliver::{
    Breaker, BreakerRule, BreakerState, Budget, BudgetRule, Observer, Pipeline, RetryEvent, StopEvent,
    StopReason, clock, prelude::*,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::fixed(ms(2)).jitter(Jitter::None).max_attempts(3);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

#[test]
fn it_waits_and_gives_up_like_the_async_one() {
    let started = clock::now();
    let mut numbers = Vec::new();
    let gave_up = POLICY
        .run_blocking(|attempt| {
            numbers.push(attempt.number);
            Err::<(), _>(refused())
        })
        .unwrap_err();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Attempts, 3));
    assert!(clock::now().since(started) >= ms(4));
    assert!(gave_up.elapsed >= ms(4));
    assert!(gave_up.last_error.is_some());
}

#[test]
fn the_attempt_is_told_its_time_and_a_late_wait_is_not_slept() {
    let policy = Policy::fixed(Duration::from_secs(50))
        .jitter(Jitter::None)
        .attempt_timeout(ms(500))
        .deadline(Duration::from_secs(50));
    let gave_up = policy.run_blocking(|attempt| {
        assert_eq!(attempt.timeout, Some(ms(500)));
        Err::<(), _>(refused())
    });
    let gave_up = gave_up.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Deadline, 1));
    assert!(gave_up.elapsed < Duration::from_secs(10));
}

#[test]
fn permanent_failures_and_other_classifications_are_heard() {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let gave_up = POLICY.run_blocking(|_| Err::<(), _>(denied())).unwrap_err();
    assert_eq!(gave_up.attempts, 1);
    let stubborn = POLICY.retrier().classify(|_: &io::Error| Class::Transient);
    assert_eq!(
        stubborn
            .run_blocking(|_| Err::<(), _>(denied()))
            .unwrap_err()
            .attempts,
        3
    );
}

#[test]
fn the_observer_hears_of_retries_of_recovery_and_of_the_end() {
    #[derive(Default)]
    struct Counts {
        retries: Cell<u32>,
        recoveries: Cell<u32>,
        stops: Cell<u32>,
    }
    impl Observer for Counts {
        fn on_retry(&self, event: &RetryEvent<'_>) {
            assert_eq!((event.attempt, event.max), (self.retries.get() % 2 + 1, Some(3)));
            self.retries.set(self.retries.get() + 1);
        }
        fn on_stop(&self, event: &StopEvent<'_>) {
            assert_eq!((event.attempts, event.error_type), (3, "ConnectionRefused"));
            self.stops.set(self.stops.get() + 1);
        }
        fn on_recovery(&self, attempts: u32) {
            assert_eq!(attempts, 3);
            self.recoveries.set(self.recoveries.get() + 1);
        }
    }
    let counts = Counts::default();
    let watched = || POLICY.retrier().observe(&counts);
    watched().run_blocking(|_| Ok::<_, io::Error>(())).unwrap();
    let third = |number: u32| if number < 3 { Err(refused()) } else { Ok(()) };
    watched().run_blocking(|attempt| third(attempt.number)).unwrap();
    watched().run_blocking(|_| Err::<(), _>(refused())).unwrap_err();
    let seen = (counts.retries.get(), counts.recoveries.get(), counts.stops.get());
    assert_eq!(seen, (4, 1, 1));
}

#[test]
fn a_loop_of_ones_own_counts_and_says_why_it_ended() {
    let mut attempts = POLICY.attempts();
    let numbers: Vec<_> = attempts.by_ref().map(|attempt| attempt.number).collect();
    assert_eq!(
        (numbers, attempts.stopped()),
        (vec![1, 2, 3], Some(StopReason::Attempts))
    );
    assert!(attempts.next().is_none(), "it stays ended");

    let mut attempts = POLICY.attempts();
    attempts.next().unwrap().failed(Class::Permanent);
    assert!(attempts.next().is_none());
    assert_eq!(attempts.stopped(), Some(StopReason::Permanent));
}

#[test]
fn a_loop_of_ones_own_tells_the_breaker_how_it_ended() {
    let rule = BreakerRule::DEFAULT.minimum_calls(1).open_for(Duration::ZERO);
    let breaker = Arc::new(Breaker::new(rule));
    let pipeline = Pipeline::new()
        .retry(POLICY.max_attempts(1))
        .breaker(Arc::clone(&breaker));
    assert_eq!(pipeline.attempts().count(), 1);
    assert_eq!(breaker.state(clock::now()), BreakerState::HalfOpen);
    // Leaving the loop after a failure gives the probe's place back; leaving it after a success closes the breaker.
    let mut left = pipeline.attempts();
    left.next().unwrap().failed(Class::Transient);
    drop(left);
    assert_eq!(breaker.state(clock::now()), BreakerState::HalfOpen);
    assert!(pipeline.attempts().next().is_some());
    assert_eq!(breaker.state(clock::now()), BreakerState::Closed);
}

#[test]
fn a_budget_is_paid_from() {
    let budget = Arc::new(Budget::new(BudgetRule::ratio(0.5)));
    let pipeline = Pipeline::new().retry(POLICY).budget(budget);
    let mut calls = 0;
    for _ in 0..10 {
        let _ = pipeline.run_blocking(|_| {
            calls += 1;
            Err::<(), _>(refused())
        });
    }
    assert_eq!(calls, 15);
}
