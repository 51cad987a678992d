//! The end before the end: `until`, and dropping the future.

use std::{
    cell::{Cell, RefCell},
    io,
    sync::Arc,
    time::Duration,
};

use redeliver::{
    Breaker, BreakerRule, BreakerState, Observer, Pipeline, StopEvent, StopReason, clock, prelude::*,
};
use tokio::sync::oneshot;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::fixed(ms(100)).jitter(Jitter::None).max_attempts(5);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

/// Notes that it was dropped.
struct Noted<'a>(&'a Cell<bool>);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[tokio::test(start_paused = true)]
async fn until_cuts_an_attempt() {
    for policy in [POLICY, POLICY.deadline(ms(90_000))] {
        let (started, dropped) = (clock::now(), Cell::new(false));
        let gave_up = policy
            .retrier()
            .until(clock::sleep(ms(30)))
            .run(async |_| {
                let _noted = Noted(&dropped);
                std::future::pending::<Result<(), io::Error>>().await
            })
            .await
            .unwrap_err();
        assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Cancelled, 1));
        assert!(gave_up.last_error.is_none() && !gave_up.timed_out);
        assert_eq!((clock::now().since(started), dropped.get()), (ms(30), true));
    }
}

#[tokio::test(start_paused = true)]
async fn until_cuts_a_wait_and_the_last_error_stays() {
    let started = clock::now();
    let gave_up = POLICY
        .retrier()
        .until(clock::sleep(ms(250)))
        .run(async |_| Err::<(), _>(refused()))
        .await
        .unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Cancelled, 3));
    assert!(gave_up.last_error.is_some());
    assert_eq!(clock::now().since(started), ms(250));
}

#[tokio::test(start_paused = true)]
async fn until_that_never_comes_changes_nothing() {
    let (stop, stopped) = oneshot::channel::<()>();
    let value = POLICY
        .retrier()
        .until(async {
            let _ = stopped.await;
        })
        .run(async |attempt| {
            if attempt.number < 3 {
                Err(refused())
            } else {
                Ok(attempt.number)
            }
        })
        .await;
    assert_eq!(value.unwrap(), 3);
    assert!(stop.is_closed(), "and it is dropped with the call");
}

#[tokio::test(start_paused = true)]
async fn the_observer_is_told_what_was_cut() {
    #[derive(Default)]
    struct Told(RefCell<Vec<String>>);
    impl Observer for Told {
        fn on_stop(&self, event: &StopEvent<'_>) {
            let line = format!("{} {} {}", event.attempts, event.reason.as_str(), event.error);
            self.0.borrow_mut().push(line);
        }
    }
    let told = Told::default();
    let hang = async |_| std::future::pending::<Result<(), io::Error>>().await;
    let in_attempt = POLICY.retrier().observe(&told).until(clock::sleep(ms(5)));
    in_attempt.run(hang).await.unwrap_err();
    let timed = POLICY.attempt_timeout(ms(20));
    let in_wait = timed.retrier().observe(&told).until(clock::sleep(ms(50)));
    let gave_up = in_wait.run(hang).await.unwrap_err();
    assert!(gave_up.timed_out, "the attempt before the wait was");
    let in_second = timed.retrier().observe(&told).until(clock::sleep(ms(130)));
    let gave_up = in_second.run(hang).await.unwrap_err();
    assert!(
        !gave_up.timed_out,
        "the second attempt was cancelled, not timed out"
    );
    assert_eq!(
        *told.0.borrow(),
        [
            "1 cancelled the attempt did not end by itself",
            "1 cancelled the attempt took longer than 20ms",
            "2 cancelled the attempt did not end by itself",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_drops_the_attempt_at_once() {
    for policy in [POLICY, POLICY.attempt_timeout(ms(90_000))] {
        let dropped = Cell::new(false);
        let run = policy.run(async |_| {
            let _noted = Noted(&dropped);
            std::future::pending::<Result<(), io::Error>>().await
        });
        assert!(tokio::time::timeout(ms(10), run).await.is_err());
        assert!(dropped.get());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_probes_place_back() {
    let rule = BreakerRule::DEFAULT.minimum_calls(1).open_for(ms(50));
    let breaker = Arc::new(Breaker::new(rule));
    let pipeline = Pipeline::new()
        .retry(POLICY.max_attempts(1))
        .breaker(Arc::clone(&breaker));
    let _ = pipeline.run(async |_| Err::<(), _>(refused())).await;
    assert_eq!(breaker.state(clock::now()), BreakerState::Open);
    clock::sleep(ms(50)).await;

    let hang = async |_| std::future::pending::<Result<(), io::Error>>().await;
    assert!(tokio::time::timeout(ms(1), pipeline.run(hang)).await.is_err());
    let cancelled = pipeline.retrier().until(clock::sleep(ms(1)));
    assert_eq!(
        cancelled.run(hang).await.unwrap_err().reason,
        StopReason::Cancelled
    );

    pipeline.run(async |_| Ok::<_, io::Error>(())).await.unwrap();
    assert_eq!(breaker.state(clock::now()), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn aborting_the_task_ends_the_attempts() {
    let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        POLICY
            .unlimited_attempts()
            .run(async |attempt| {
                let _ = sender.send(attempt.number);
                Err::<(), _>(refused())
            })
            .await
    });
    while begun.recv().await.is_some_and(|number| number < 3) {}
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(begun.recv().await.is_none(), "the closure is gone with its call");
}
