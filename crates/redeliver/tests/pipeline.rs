//! Retry, budget, breaker and timeouts as one, driven for real on a paused clock.

use std::{cell::Cell, io, sync::Arc, time::Duration};

use redeliver::{
    Breaker, BreakerRule, BreakerState, Budget, BudgetRule, Pipeline, StopReason, clock, prelude::*,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::fixed(ms(10)).jitter(Jitter::None).max_attempts(4);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

fn breaker() -> Arc<Breaker> {
    Arc::new(Breaker::new(
        BreakerRule::DEFAULT.minimum_calls(2).open_for(ms(200)),
    ))
}

#[tokio::test(start_paused = true)]
async fn the_order_of_timeouts_is_their_meaning() {
    let hang = async |_| std::future::pending::<Result<(), io::Error>>().await;
    let pipeline = Pipeline::new().timeout(ms(100)).retry(POLICY).timeout(ms(40));
    let started = clock::now();
    let gave_up = pipeline.run(hang).await.unwrap_err();
    // 0 to 40, 50 to 90, and the next wait would end at the deadline.
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Deadline, 2));
    assert_eq!(clock::now().since(started), ms(90));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_inside_the_retry_stops_all_who_share_it() {
    let breaker = breaker();
    let pipeline = Pipeline::new().retry(POLICY).breaker(Arc::clone(&breaker));
    let calls = Cell::new(0);
    let call = async |_| {
        calls.set(calls.get() + 1);
        Err::<(), _>(refused())
    };
    let gave_up = pipeline.run(call).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Breaker, 2));
    assert!(gave_up.last_error.is_some(), "the error that opened it");
    let gave_up = pipeline.run(call).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Breaker, 0));
    assert!(gave_up.last_error.is_none());
    assert_eq!(calls.get(), 2);
    assert_eq!(breaker.state(clock::now()), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_outside_the_retry_counts_calls() {
    let breaker = breaker();
    let pipeline = Pipeline::new().breaker(Arc::clone(&breaker)).retry(POLICY);
    let calls = Cell::new(0);
    for expected in [StopReason::Attempts, StopReason::Attempts, StopReason::Breaker] {
        let gave_up = pipeline
            .run(async |_| {
                calls.set(calls.get() + 1);
                Err::<(), _>(refused())
            })
            .await
            .unwrap_err();
        assert_eq!(gave_up.reason, expected);
    }
    assert_eq!(calls.get(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_a_healthy_answer() {
    let breaker = breaker();
    let pipeline = Pipeline::new().retry(POLICY).breaker(Arc::clone(&breaker));
    for _ in 0..9 {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let gave_up = pipeline.run(async |_| Err::<(), _>(denied())).await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Permanent);
    }
    assert_eq!(breaker.state(clock::now()), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_budget_bounds_the_sum_of_many_calls() {
    for ratio in [0.0, 0.1, 0.5, 1.0] {
        let budget = Arc::new(Budget::new(BudgetRule::ratio(ratio)));
        let pipeline = Arc::new(Pipeline::new().retry(POLICY).budget(budget));
        let calls = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let tasks: Vec<_> = (0..1_000)
            .map(|_| {
                let (pipeline, calls) = (Arc::clone(&pipeline), Arc::clone(&calls));
                tokio::spawn(async move {
                    let call = async |_| {
                        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        Err::<(), _>(refused())
                    };
                    pipeline.run(call).await.unwrap_err().reason
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), StopReason::Budget);
        }
        let calls = calls.load(std::sync::atomic::Ordering::Relaxed);
        // What was saved up and not spent cannot be more than one call's own retries.
        let most = 1_000 + (1_000.0 * ratio) as u32;
        assert!(calls <= most && calls + 100 >= most, "{ratio}: {calls} of {most}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_without_a_retry_makes_one_attempt() {
    let gave_up = Pipeline::new()
        .timeout(ms(30))
        .run(async |_| Err::<(), _>(refused()))
        .await
        .unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Attempts, 1));
}
