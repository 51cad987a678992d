//! The async driver on a paused clock: what it waits, what it cuts, and how it says that it ended.

use std::{
    cell::{Cell, RefCell},
    io,
    sync::Arc,
    time::Duration,
};

use redeliver::{
    Breaker, BreakerRule, Budget, BudgetRule, Classified, Decision, Moment, Pipeline, Run as _, Session,
    StopReason, clock, prelude::*,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::exponential(ms(100), ms(1_000))
    .jitter(Jitter::None)
    .max_attempts(6);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

fn failure<T>(class: Class) -> Result<T, Classified<&'static str>> {
    Err(Classified::new(class, "no"))
}

#[tokio::test(start_paused = true)]
async fn waits_are_exactly_the_sessions() {
    for backoff in [
        POLICY,
        POLICY.multiplier(1.7),
        Policy::linear(ms(30), ms(70)),
        Policy::fibonacci(ms(10), ms(500)).max_attempts(9),
        Policy::list(&[ms(5), ms(2), ms(9)]).max_attempts(7),
    ] {
        let policy = backoff.jitter(Jitter::None);
        let started = clock::now();
        let begun = RefCell::new(Vec::new());
        let gave_up = policy
            .run(async |_| {
                begun.borrow_mut().push(clock::now().since(started));
                Err::<(), _>(refused())
            })
            .await
            .unwrap_err();
        let mut session = Session::new(&policy, Moment::ZERO);
        let (mut expected, mut at) = (vec![Duration::ZERO], Duration::ZERO);
        while let Decision::Retry { after, .. } = session.on_failure(Moment::ZERO, Class::Transient, 0) {
            // The timer of the runtime counts in whole milliseconds, upwards.
            at += Duration::from_millis(u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap());
            expected.push(at);
        }
        assert_eq!(begun.into_inner(), expected, "{policy}");
        assert_eq!(gave_up.reason, StopReason::Attempts);
        assert_eq!(gave_up.elapsed, at);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_never_outlives_the_deadline() {
    let policy = POLICY.attempt_timeout(ms(400)).deadline(ms(1_000));
    let started = clock::now();
    let timeouts = RefCell::new(Vec::new());
    let gave_up = policy
        .run(async |attempt| {
            timeouts.borrow_mut().push(attempt.timeout.unwrap());
            std::future::pending::<Result<(), io::Error>>().await
        })
        .await
        .unwrap_err();
    // 0 to 400, wait 100, 500 to 900, and a wait of 200 would end past it.
    assert_eq!(timeouts.into_inner(), [ms(400), ms(400)]);
    assert_eq!(clock::now().since(started), ms(900));
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Deadline, 2));
    assert_eq!(
        (gave_up.timed_out, gave_up.last_error.is_none(), gave_up.elapsed),
        (true, true, ms(900))
    );

    let started = clock::now();
    let cut = POLICY
        .attempt_timeout(ms(400))
        .deadline(ms(250))
        .run(async |_| std::future::pending::<Result<(), io::Error>>().await)
        .await
        .unwrap_err();
    assert_eq!(
        (cut.reason, clock::now().since(started)),
        (StopReason::Deadline, ms(250))
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_is_not_slept() {
    let started = clock::now();
    let gave_up = Policy::fixed(ms(10_000))
        .jitter(Jitter::None)
        .deadline(ms(10_000))
        .run(async |_| Err::<(), _>(refused()))
        .await
        .unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Deadline, 1));
    assert_eq!(clock::now().since(started), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn every_reason_can_be_met() {
    let mut met = Vec::new();
    let mut note = |gave_up: GaveUp<Classified<&str>>| met.push(gave_up.reason);

    note(
        POLICY
            .run(async |_| failure::<()>(Class::Permanent))
            .await
            .unwrap_err(),
    );
    let once = POLICY.idempotent(false);
    note(
        once.run(async |_| failure::<()>(Class::Unknown))
            .await
            .unwrap_err(),
    );
    note(
        POLICY
            .run(async |_| failure::<()>(Class::Transient))
            .await
            .unwrap_err(),
    );
    let short = POLICY.deadline(ms(50));
    note(
        short
            .run(async |_| failure::<()>(Class::Transient))
            .await
            .unwrap_err(),
    );
    let far = Class::throttled_for(Duration::from_secs(301));
    note(POLICY.run(async |_| failure::<()>(far)).await.unwrap_err());
    let broke = Pipeline::new()
        .retry(POLICY)
        .budget(Arc::new(Budget::new(BudgetRule::ratio(0.0))));
    note(
        broke
            .run(async |_| failure::<()>(Class::Transient))
            .await
            .unwrap_err(),
    );
    let breaker = Arc::new(Breaker::new(BreakerRule::DEFAULT.minimum_calls(1)));
    let broken = Pipeline::new().retry(POLICY).breaker(breaker);
    note(
        broken
            .run(async |_| failure::<()>(Class::Transient))
            .await
            .unwrap_err(),
    );
    let cancelled = POLICY.retrier().until(async { clock::sleep(ms(50)).await });
    note(
        cancelled
            .run(async |_| failure::<()>(Class::Transient))
            .await
            .unwrap_err(),
    );
    let nested = POLICY.run(async |_| {
        let inner = POLICY.run(async |_| failure::<()>(Class::Transient)).await;
        inner.map_err(|gave_up| gave_up.into_error().unwrap())
    });
    note(nested.await.unwrap_err());
    assert_eq!(met, StopReason::ALL);
}

#[tokio::test(start_paused = true)]
async fn a_hint_is_waited_to_the_full_and_no_longer_one_accepted() {
    for jitter in [Jitter::None, Jitter::Full, Jitter::Decorrelated] {
        let policy = POLICY.jitter(jitter).retry_after_max(ms(7_000));
        let (started, hint) = (clock::now(), Class::throttled_for(ms(7_000)));
        let waited = policy.run(async |attempt| match attempt.number {
            1 => failure(hint),
            _ => Ok(clock::now().since(started)),
        });
        let waited = waited.await.unwrap();
        assert!(waited >= ms(7_000) && waited <= ms(7_701), "{jitter}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives_a_timeout_after_it() {
    let gave_up = POLICY
        .max_attempts(2)
        .attempt_timeout(ms(30))
        .run(async |attempt| match attempt.number {
            1 => Err::<(), _>(io::Error::other("the real one, connection refused")),
            _ => std::future::pending().await,
        })
        .await
        .unwrap_err();
    assert!(gave_up.timed_out);
    assert_eq!(
        gave_up.to_string(),
        "gave up after 2 attempts in 130ms: out of attempts; the last attempt timed out; \
         last error: the real one, connection refused"
    );
}

#[tokio::test(start_paused = true)]
async fn a_first_try_without_limits_is_told_nothing_and_waits_for_nothing() {
    let started = clock::now();
    let value = POLICY
        .run(async |attempt| {
            assert_eq!(
                (attempt.number, attempt.timeout, attempt.is_retry()),
                (1, None, false)
            );
            Ok::<_, io::Error>(7)
        })
        .await;
    assert_eq!((value.unwrap(), clock::now()), (7, started));
}

#[tokio::test(start_paused = true)]
async fn a_closure_may_change_what_it_borrows() {
    let mut pages = Vec::new();
    let mut cursor = String::from("start");
    let result = POLICY
        .attempt_timeout(ms(50))
        .run_mut(async |attempt| {
            cursor.push('.');
            tokio::task::yield_now().await;
            pages.push((attempt.number, cursor.clone()));
            match attempt.number {
                1 => Err(refused()),
                // Cut in the middle: the next attempt has the closure back.
                2 => std::future::pending().await,
                _ => Ok(cursor.as_str().len()),
            }
        })
        .await;
    assert_eq!(result.unwrap(), "start...".len());
    assert_eq!(pages.len(), 3);
    assert_eq!(cursor, "start...");
}

#[tokio::test(start_paused = true)]
async fn a_value_may_borrow_from_outside_the_closure() {
    let source = String::from("alpha beta");
    let word: &str = POLICY
        .run(async |attempt| match attempt.number {
            1 => Err(refused()),
            _ => Ok(source.split(' ').next().unwrap_or("")),
        })
        .await
        .unwrap();
    assert_eq!(word, "alpha");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_succeeds_late_succeeds() {
    let tries = Cell::new(0);
    let value = POLICY
        .deadline(ms(10_000))
        .run(async |_| {
            tries.set(tries.get() + 1);
            clock::sleep(ms(900)).await;
            if tries.get() < 4 {
                Err(refused())
            } else {
                Ok(tries.get())
            }
        })
        .await;
    assert_eq!(value.unwrap(), 4);
}

#[tokio::test]
async fn a_call_is_hardly_larger_than_its_operation() {
    async fn leaf() -> Result<(), io::Error> {
        let buffer = [1u8; 4_000];
        tokio::task::yield_now().await;
        std::hint::black_box(buffer);
        Ok(())
    }
    let one = POLICY.run(async |_| leaf().await);
    let two = POLICY.run(async |_| {
        let inner = POLICY.run(async |_| leaf().await).await;
        inner.map_err(|gave_up| gave_up.into_error().unwrap())
    });
    let sizes = (size_of_val(&leaf()), size_of_val(&one), size_of_val(&two));
    assert!(
        sizes.1 < sizes.0 + 1_000 && sizes.2 < sizes.0 + 2_000,
        "{sizes:?}"
    );
}
