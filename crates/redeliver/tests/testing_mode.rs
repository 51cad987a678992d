//! The test mode that users put around their own tests: no waiting, the same draws, few attempts.

use std::{
    cell::RefCell,
    io,
    time::{Duration, Instant},
};

use redeliver::{Observer, RetryEvent, StopReason, prelude::*, testing};

const SLOW: Policy = Policy::exponential(Duration::from_secs(60), Duration::from_secs(3_600)).max_attempts(6);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

#[derive(Default)]
struct Delays(RefCell<Vec<Duration>>);

impl Observer for Delays {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        self.0.borrow_mut().push(event.delay);
    }
}

/// The waits of one failing call.
async fn delays() -> Vec<Duration> {
    let delays = Delays::default();
    let gave_up = SLOW
        .retrier()
        .observe(&delays)
        .run(async |_| Err::<(), _>(refused()))
        .await;
    assert!(gave_up.is_err());
    delays.0.into_inner()
}

/// Hours of waits must pass in less than this.
const AT_ONCE: Duration = Duration::from_secs(5);

fn now() -> Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "whether real time passes is the question"
    )]
    Instant::now()
}

#[tokio::test]
async fn nothing_is_waited_and_the_draws_are_the_seeds() {
    let started = now();
    let mut drawn = Vec::new();
    for seed in [7, 7, 8] {
        let _guard = testing::start().seed(seed).enter();
        drawn.push(delays().await);
    }
    assert!(started.elapsed() < AT_ONCE);
    assert_eq!(drawn[0].len(), 5);
    assert_eq!(drawn[0], drawn[1]);
    assert_ne!(drawn[0], drawn[2]);
}

#[tokio::test]
async fn attempts_are_capped_in_every_form() {
    let _guard = testing::start().max_attempts(2).enter();
    let unlimited = SLOW.unlimited_attempts();
    let gave_up = unlimited
        .run(async |_| Err::<(), _>(refused()))
        .await
        .unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (2, StopReason::Attempts));
    let blocking = unlimited.run_blocking(|_| Err::<(), _>(refused()));
    assert_eq!(blocking.unwrap_err().attempts, 2);
    assert_eq!(unlimited.attempts().count(), 2);
    let fewer = SLOW.max_attempts(1).run(async |_| Err::<(), _>(refused())).await;
    assert_eq!(fewer.unwrap_err().attempts, 1, "it only ever lowers");
}

#[tokio::test]
async fn deadlines_still_end_calls() {
    let _guard = testing::start().enter();
    let started = now();
    let policy = Policy::fixed(Duration::from_secs(60))
        .jitter(Jitter::None)
        .unlimited_attempts()
        .deadline(Duration::from_secs(601));
    let gave_up = policy.run(async |_| Err::<(), _>(refused())).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Deadline, 11));
    assert!(gave_up.elapsed >= Duration::from_secs(600), "of the virtual time");
    assert_eq!(policy.attempts().count(), 11);
    assert!(started.elapsed() < AT_ONCE);
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_without_end_lets_others_end_it() {
    let _guard = testing::start().enter();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let ender = tokio::spawn(async move {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let _ = stop.send(());
    });
    let gave_up = SLOW
        .unlimited_attempts()
        .retrier()
        .until(async {
            let _ = stopped.await;
        })
        .run(async |_| Err::<(), _>(refused()))
        .await
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Cancelled);
    assert!(gave_up.attempts > 5);
    ender.await.unwrap();
}

#[test]
fn a_test_that_panics_leaves_the_mode_to_the_next() {
    let panicked = std::thread::spawn(|| {
        let _guard = testing::start().max_attempts(1).enter();
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    let _guard = testing::start().max_attempts(4).enter();
    assert_eq!(SLOW.attempts().count(), 4);
}
