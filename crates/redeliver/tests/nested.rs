//! B6: retries happen at one layer. Loops inside loops never multiply their attempts.

use std::{cell::Cell, future::poll_fn, io, pin::pin, sync::Arc, task::Poll, time::Duration};

use redeliver::{Budget, BudgetRule, Pipeline, StopReason, prelude::*};
use tokio::task::yield_now;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::fixed(ms(10)).jitter(Jitter::None).max_attempts(3);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

/// Gives up after its attempts and hands on the bare error, as a library does that does not know what surrounds it.
async fn inner(calls: &Cell<u32>) -> Result<(), io::Error> {
    POLICY
        .run(async |_| {
            calls.set(calls.get() + 1);
            Err(refused())
        })
        .await
        .map_err(|gave_up| gave_up.into_error().expect("every attempt failed"))
}

#[tokio::test(start_paused = true)]
async fn three_levels_make_the_attempts_of_one() {
    let calls = Cell::new(0);
    let outer = POLICY
        .run(async |_| {
            let middle = POLICY.run(async |_| inner(&calls).await).await;
            let middle = middle.unwrap_err();
            assert_eq!((middle.reason, middle.attempts), (StopReason::Nested, 1));
            Err::<(), _>(middle.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, outer.attempts), (StopReason::Nested, 1));
    assert_eq!(calls.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_works_before_its_future_is_inside_too() {
    // Without limits the first try has no frame, with a deadline it has one, and inside another loop it is begun in a third way.
    for policy in [POLICY, POLICY.deadline(ms(60_000))] {
        for outer in [POLICY.max_attempts(1), POLICY.deadline(ms(60_000))] {
            let (calls, seen) = (Cell::new(0), Cell::new(None));
            let eager = |_| {
                let inner = POLICY.run_blocking(|_| {
                    calls.set(calls.get() + 1);
                    Err::<(), _>(refused())
                });
                std::future::ready(
                    inner.map_err(|gave_up| gave_up.into_error().expect("every attempt failed")),
                )
            };
            let _ = outer
                .run(async |_| {
                    let gave_up = policy.run(&eager).await.unwrap_err();
                    seen.set(Some((gave_up.reason, gave_up.attempts)));
                    Err::<(), _>(refused())
                })
                .await;
            assert_eq!((seen.get(), calls.get()), (Some((StopReason::Nested, 1)), 3));
        }
    }
}

#[tokio::test]
async fn blocking_levels_make_the_attempts_of_one() {
    let policy = Policy::fixed(Duration::from_nanos(1)).max_attempts(3);
    let mut calls = 0;
    let outer = policy.run_blocking(|_| {
        let middle = policy.run_blocking(|_| {
            for _ in policy.attempts() {
                calls += 1;
            }
            Err::<(), _>(refused())
        });
        Err::<(), _>(middle.unwrap_err().into_error().unwrap())
    });
    assert_eq!(outer.unwrap_err().reason, StopReason::Nested);
    assert_eq!(calls, 3);
}

#[tokio::test(start_paused = true)]
async fn an_inner_permanent_failure_is_the_outer_loops_to_judge() {
    let calls = Cell::new(0);
    let outer = POLICY
        .run(async |_| {
            calls.set(calls.get() + 1);
            let inner = POLICY.retrier().classify(|_: &io::Error| Class::Permanent);
            inner
                .run(async |_| Err::<(), _>(refused()))
                .await
                .map_err(|gave_up| gave_up.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, calls.get()), (StopReason::Attempts, 3));
}

#[tokio::test(start_paused = true)]
async fn an_inner_plan_of_one_attempt_has_retried_nothing() {
    let once = Pipeline::new().timeout(ms(50));
    let outer = POLICY
        .run(async |_| {
            once.run(async |_| Err::<(), _>(refused()))
                .await
                .map_err(|gave_up| gave_up.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, outer.attempts), (StopReason::Attempts, 3));
}

#[tokio::test(start_paused = true)]
async fn an_inner_success_clears_what_an_earlier_inner_loop_left() {
    for success_needs_a_retry in [false, true] {
        let calls = Cell::new(0);
        let outer = POLICY
            .run(async |_| {
                let _ = inner(&calls).await;
                let second = POLICY.run(async |attempt| {
                    if success_needs_a_retry && attempt.number < 2 {
                        return Err(refused());
                    }
                    Ok(())
                });
                second.await.unwrap();
                Err::<(), _>(refused())
            })
            .await
            .unwrap_err();
        assert_eq!((outer.reason, calls.get()), (StopReason::Attempts, 9));
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_inner_loop_that_is_dropped_while_suspended_clears_nothing() {
    let calls = Cell::new(0);
    let outer = POLICY
        .run(async |_| {
            let error = inner(&calls).await.unwrap_err();
            let mut second = pin!(POLICY.run(async |_| {
                yield_now().await;
                Ok::<_, io::Error>(())
            }));
            assert!(poll_fn(|context| Poll::Ready(second.as_mut().poll(context).is_pending())).await);
            Err::<(), _>(error)
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, outer.attempts), (StopReason::Nested, 1));
    assert_eq!(calls.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_inner_loop_cut_in_its_retries_is_not_started_again() {
    let calls = Cell::new(0);
    let patient = Policy::fixed(ms(40)).jitter(Jitter::None).max_attempts(10);
    let outer = POLICY
        .attempt_timeout(ms(100))
        .run(async |_| {
            patient
                .run(async |_| {
                    calls.set(calls.get() + 1);
                    Err::<(), _>(refused())
                })
                .await
                .map_err(|gave_up| gave_up.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, outer.timed_out), (StopReason::Nested, true));
    assert_eq!(calls.get(), 3, "at 0, 40 and 80 ms");
}

#[tokio::test(start_paused = true)]
async fn an_inner_attempt_that_hangs_without_retries_may_be_tried_again() {
    let outer = POLICY
        .attempt_timeout(ms(100))
        .run(async |attempt| {
            POLICY
                .run(async |_| match attempt.number {
                    3 => Ok(()),
                    _ => std::future::pending().await,
                })
                .await
                .map_err(|gave_up: GaveUp<io::Error>| gave_up.into_error().unwrap())
        })
        .await;
    assert!(outer.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_inner_loop_sees_the_outer_deadline() {
    let calls = Cell::new(0);
    let patient = Policy::fixed(ms(400)).jitter(Jitter::None).unlimited_attempts();
    let outer = POLICY
        .deadline(ms(1_000))
        .run(async |_| {
            let inner = patient.run(async |attempt| {
                calls.set(calls.get() + 1);
                assert_eq!(
                    attempt.timeout,
                    Some(ms(1_000 - 400 * u64::from(attempt.number - 1)))
                );
                Err::<(), _>(refused())
            });
            let inner = inner.await.unwrap_err();
            assert_eq!((inner.reason, inner.elapsed), (StopReason::Deadline, ms(800)));
            Err::<(), _>(inner.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, outer.elapsed), (StopReason::Nested, ms(800)));
    assert_eq!(calls.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn inner_retries_are_paid_from_the_outer_budget() {
    let budget = Arc::new(Budget::new(BudgetRule::ratio(1.0)));
    // The pipeline's own call adds a third.
    budget.deposit();
    budget.deposit();
    let pipeline = Pipeline::new().retry(POLICY).budget(Arc::clone(&budget));
    let many = POLICY.max_attempts(100);
    let calls = Cell::new(0);
    let outer = pipeline
        .run(async |_| {
            let inner = many.run(async |_| {
                yield_now().await;
                calls.set(calls.get() + 1);
                Err::<(), _>(refused())
            });
            let inner = inner.await.unwrap_err();
            assert_eq!(inner.reason, StopReason::Budget);
            Err::<(), _>(inner.into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_eq!((outer.reason, calls.get()), (StopReason::Nested, 4));
    assert_eq!(budget.saved(), 0);
}

#[test]
fn a_loop_of_ones_own_pays_from_the_outer_budget() {
    let budget = Arc::new(Budget::new(BudgetRule::ratio(1.0)));
    budget.deposit();
    let quick = Policy::fixed(Duration::from_nanos(1)).max_attempts(100);
    let pipeline = Pipeline::new().retry(quick).budget(budget);
    let mut calls = 0;
    let outer = pipeline.run_blocking(|_| {
        let mut attempts = quick.attempts();
        while attempts.next().is_some() {
            calls += 1;
        }
        assert_eq!(attempts.stopped(), Some(StopReason::Budget));
        Err::<(), _>(refused())
    });
    assert_eq!((outer.unwrap_err().reason, calls), (StopReason::Nested, 3));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_the_guard_forbids_costs_the_budget_nothing() {
    let budget = Arc::new(Budget::new(BudgetRule::ratio(1.0)));
    (0..9).for_each(|_| budget.deposit());
    let pipeline = Pipeline::new().retry(POLICY).budget(Arc::clone(&budget));
    let calls = Cell::new(0);
    let outer = pipeline.run(async |_| inner(&calls).await).await.unwrap_err();
    assert_eq!(outer.reason, StopReason::Nested);
    assert_eq!(budget.saved(), 10 - 2, "the inner loop's two retries");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_around_the_retry_counts_a_nested_end_as_a_failure() {
    use redeliver::{Breaker, BreakerRule, BreakerState, clock};
    let breaker = Arc::new(Breaker::new(BreakerRule::DEFAULT.minimum_calls(1)));
    let pipeline = Pipeline::new().breaker(Arc::clone(&breaker)).retry(POLICY);
    let calls = Cell::new(0);
    let outer = pipeline.run(async |_| inner(&calls).await).await.unwrap_err();
    assert_eq!(outer.reason, StopReason::Nested);
    assert_eq!(breaker.state(clock::now()), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn tasks_on_one_thread_do_not_see_each_other() {
    // The first has a deadline and is in the middle of an attempt whenever the second is polled.
    let short = POLICY.deadline(ms(100));
    let first = short.run(async |_| {
        for _ in 0..20 {
            yield_now().await;
        }
        Err::<(), _>(refused())
    });
    let second = POLICY.run(async |attempt| {
        assert_eq!(attempt.timeout, None);
        for _ in 0..7 {
            yield_now().await;
        }
        Err::<(), _>(refused())
    });
    let calls = Cell::new(0);
    let third = POLICY.run(async |_| {
        yield_now().await;
        inner(&calls).await
    });
    let (first, second, third) = tokio::join!(first, second, third);
    assert_eq!(first.unwrap_err().reason, StopReason::Attempts);
    assert_eq!(second.unwrap_err().reason, StopReason::Attempts);
    assert_eq!(third.unwrap_err().reason, StopReason::Nested);
    assert_eq!(calls.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_is_a_call_of_its_own() {
    let outer = POLICY
        .deadline(ms(50))
        .run(async |_| {
            let task = tokio::spawn(POLICY.run(async |attempt| {
                assert_eq!(attempt.timeout, None);
                Err::<(), _>(refused())
            }));
            Err::<(), _>(task.await.unwrap().unwrap_err().into_error().unwrap())
        })
        .await
        .unwrap_err();
    assert_ne!(outer.reason, StopReason::Nested);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_attempt_leaves_no_frame_behind() {
    let panicked = tokio::spawn(async {
        POLICY
            .deadline(ms(5))
            .run(async |_| -> Result<(), io::Error> { panic!("on purpose") })
            .await
    });
    assert!(panicked.await.unwrap_err().is_panic());
    let blocking = std::panic::catch_unwind(|| {
        POLICY
            .deadline(ms(5))
            .run_blocking(|_| -> Result<(), io::Error> { panic!("on purpose") })
    });
    assert!(blocking.is_err());
    let after = POLICY.run(async |attempt| {
        assert_eq!(attempt.timeout, None);
        Err::<(), _>(refused())
    });
    assert_eq!(after.await.unwrap_err().attempts, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_frame_moves_with_its_task() {
    let long = Policy::fixed(Duration::from_micros(20))
        .max_attempts(3)
        .deadline(Duration::from_secs(60));
    let limited: Vec<_> = (0..100)
        .map(|_| {
            tokio::spawn(async move {
                long.run(async |_| {
                    for _ in 0..10 {
                        yield_now().await;
                        let seen = POLICY
                            .run(async |attempt| Ok::<_, io::Error>(attempt.timeout))
                            .await;
                        assert!(seen.unwrap().is_some(), "inside, the deadline is seen");
                    }
                    Err::<(), _>(refused())
                })
                .await
                .unwrap_err()
                .attempts
            })
        })
        .collect();
    let free: Vec<_> = (0..100)
        .map(|_| {
            tokio::spawn(async {
                for _ in 0..10 {
                    yield_now().await;
                    let seen = POLICY
                        .run(async |attempt| Ok::<_, io::Error>(attempt.timeout))
                        .await;
                    assert_eq!(seen.unwrap(), None, "outside, it is not");
                }
                3
            })
        })
        .collect();
    for task in limited.into_iter().chain(free) {
        assert_eq!(task.await.unwrap(), 3);
    }
}
