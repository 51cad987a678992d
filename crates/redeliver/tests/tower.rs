//! The tower layer: one driver with everything else, and tower's own rules of readiness kept.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use redeliver::{
    Breaker, BreakerRule, BreakerState, Budget, BudgetRule, GaveUp, Observer, Pipeline, RetryEvent,
    StopReason, clock,
    prelude::*,
    tower::{BoxError, Cause, RetryLayer},
};
use tower::{Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit, service_fn};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const POLICY: Policy = Policy::fixed(ms(10)).jitter(Jitter::None).max_attempts(3);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

fn gave_up(error: &BoxError) -> (StopReason, u32) {
    let gave_up = error.downcast_ref::<GaveUp<Cause>>().expect("a GaveUp");
    (gave_up.reason, gave_up.attempts)
}

/// A status as a response, as HTTP services have it.
fn by_status(result: &Result<u16, io::Error>) -> Option<Class> {
    match result {
        Ok(429) => Some(Class::throttled_for(Duration::from_secs(3))),
        Ok(500..) => Some(Class::Transient),
        Ok(_) => None,
        Err(error) => Some(error.class()),
    }
}

/// Answers with these in turn, the last one for ever, and remembers what it was asked.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Vec<Result<u16, io::ErrorKind>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Script {
    fn new(answers: impl Into<Vec<Result<u16, io::ErrorKind>>>) -> Self {
        Self {
            answers: Arc::new(answers.into()),
            asked: Arc::default(),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }

    fn service(
        &self,
    ) -> impl Service<String, Response = u16, Error = io::Error, Future: Send> + Clone + Send + use<> {
        let script = self.clone();
        service_fn(move |request: String| {
            let mut asked = script.asked.lock().expect("nobody panicked");
            let answer = script.answers[asked.len().min(script.answers.len() - 1)];
            asked.push(request);
            async move {
                tokio::task::yield_now().await;
                answer.map_err(io::Error::from)
            }
        })
    }
}

const REFUSED: Result<u16, io::ErrorKind> = Err(io::ErrorKind::ConnectionRefused);

#[tokio::test(start_paused = true)]
async fn errors_are_retried_with_the_same_request_and_the_sessions_waits() {
    let script = Script::new([REFUSED, REFUSED, Ok(200)]);
    let started = clock::now();
    let service = RetryLayer::new(Policy::exponential(ms(100), ms(900)).jitter(Jitter::None));
    let service = ServiceBuilder::new().layer(service).service(script.service());
    assert_eq!(service.oneshot("order 42".to_owned()).await.unwrap(), 200);
    assert_eq!(script.asked(), ["order 42", "order 42", "order 42"]);
    assert_eq!(clock::now().since(started), ms(300));
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_call_tells_why_and_keeps_the_services_error() {
    let script = Script::new([REFUSED]);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(POLICY))
        .service(script.service());
    let error = service.oneshot(String::new()).await.unwrap_err();
    assert_eq!(gave_up(&error), (StopReason::Attempts, 3));
    let cause = error.downcast::<GaveUp<Cause>>().unwrap().into_error().unwrap();
    assert_eq!(
        cause.downcast_ref::<io::Error>().unwrap().kind(),
        io::ErrorKind::ConnectionRefused
    );
    assert!(cause.into_inner().is::<io::Error>());
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_sent_once() {
    let script = Script::new([Err(io::ErrorKind::PermissionDenied)]);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(POLICY))
        .service(script.service());
    let error = service.oneshot(String::new()).await.unwrap_err();
    assert_eq!(gave_up(&error), (StopReason::Permanent, 1));
}

#[tokio::test(start_paused = true)]
async fn a_response_may_be_a_failure_and_the_last_one_comes_back_as_it_is() {
    let recovering = Script::new([Ok(503), REFUSED, Ok(201)]);
    let layer = RetryLayer::new(POLICY).judge(by_status);
    let service = ServiceBuilder::new()
        .layer(layer.clone())
        .service(recovering.service());
    assert_eq!(service.oneshot(String::new()).await.unwrap(), 201);

    let down = Script::new([REFUSED, Ok(500), Ok(503)]);
    let service = ServiceBuilder::new().layer(layer.clone()).service(down.service());
    assert_eq!(service.oneshot(String::new()).await.unwrap(), 503);
    assert_eq!(down.asked().len(), 3);

    let erring = Script::new([Ok(503), REFUSED]);
    let service = ServiceBuilder::new().layer(layer).service(erring.service());
    let error = service.oneshot(String::new()).await.unwrap_err();
    assert_eq!(gave_up(&error), (StopReason::Attempts, 3));
}

#[tokio::test(start_paused = true)]
async fn a_servers_wait_is_obeyed_and_its_limit_too() {
    let script = Script::new([Ok(429), Ok(200)]);
    let started = clock::now();
    let layer = RetryLayer::new(POLICY).judge(by_status);
    let service = ServiceBuilder::new().layer(layer).service(script.service());
    assert_eq!(service.oneshot(String::new()).await.unwrap(), 200);
    assert_eq!(clock::now().since(started), ms(3_000));

    let impatient = RetryLayer::new(POLICY.retry_after_max(ms(2_000))).judge(by_status);
    let script = Script::new([Ok(429), Ok(200)]);
    let service = ServiceBuilder::new().layer(impatient).service(script.service());
    assert_eq!(service.oneshot(String::new()).await.unwrap(), 429);
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_and_the_whole_call_end_in_time() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let hanging = service_fn(move |(): ()| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<(), io::Error>>()
    });
    let started = clock::now();
    let policy = POLICY.max_attempts(99).attempt_timeout(ms(40)).deadline(ms(120));
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(policy))
        .service(hanging);
    let error = service.oneshot(()).await.unwrap_err();
    // 0 to 40, 50 to 90, 100 to 120.
    assert_eq!(gave_up(&error), (StopReason::Deadline, 3));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(clock::now().since(started), ms(120));
    assert!(error.downcast_ref::<GaveUp<Cause>>().unwrap().timed_out);
}

#[tokio::test(start_paused = true)]
async fn a_response_before_a_timeout_is_not_taken_for_the_last_word() {
    let calls = AtomicU32::new(0);
    let calls = Arc::new(calls);
    let service = service_fn(move |(): ()| {
        let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                return Ok::<_, io::Error>(503);
            }
            std::future::pending().await
        }
    });
    let layer = RetryLayer::new(POLICY.max_attempts(2).attempt_timeout(ms(40))).judge(by_status);
    let service = ServiceBuilder::new().layer(layer).service(service);
    let error = service.oneshot(()).await.unwrap_err();
    assert!(error.to_string().contains("timed out"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_is_sent_once() {
    /// Not `Clone`, as a streamed body is not.
    struct Upload {
        text: &'static str,
        streamed: bool,
    }
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    let service = service_fn(move |upload: Upload| {
        log.lock().unwrap().push(upload.text);
        async { Err::<(), _>(refused()) }
    });
    let copy = |upload: &Upload| {
        (!upload.streamed).then_some(Upload {
            text: upload.text,
            streamed: false,
        })
    };
    for policy in [POLICY, POLICY.deadline(ms(900))] {
        let layer = RetryLayer::new(policy).replay(copy);
        let service = ServiceBuilder::new().layer(layer).service(service.clone());
        for (text, streamed, attempts) in [("kept", false, 3), ("streamed", true, 1)] {
            let upload = Upload { text, streamed };
            let error = service.clone().oneshot(upload).await.unwrap_err();
            assert_eq!(gave_up(&error), (StopReason::Attempts, attempts));
        }
    }
    let expected = ["kept", "kept", "kept", "streamed"];
    assert_eq!(*sent.lock().unwrap(), [expected, expected].concat());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_can_no_longer_be_copied_ends_the_call() {
    let copies = AtomicU32::new(0);
    let script = Script::new([REFUSED]);
    let layer = RetryLayer::new(POLICY.max_attempts(9)).replay(move |request: &String| {
        (copies.fetch_add(1, Ordering::Relaxed) < 2).then(|| request.clone())
    });
    let service = ServiceBuilder::new().layer(layer).service(script.service());
    let error = service.oneshot(String::new()).await.unwrap_err();
    assert_eq!(gave_up(&error), (StopReason::Permanent, 3));
}

/// Breaks the rules loudly: a call without a `poll_ready` of its own panics.
struct Strict<S> {
    inner: S,
    is_ready: bool,
    polls: Arc<AtomicU32>,
}

impl<S: Clone> Clone for Strict<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            is_ready: false,
            polls: Arc::clone(&self.polls),
        }
    }
}

impl<Q, S: Service<Q>> Service<Q> for Strict<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        let poll = self.inner.poll_ready(context);
        self.is_ready = poll.is_ready();
        poll
    }

    fn call(&mut self, request: Q) -> S::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without being ready");
        self.inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_waits_until_the_service_is_ready() {
    for policy in [POLICY, POLICY.deadline(ms(900))] {
        let (script, polls) = (Script::new([REFUSED, REFUSED, Ok(200)]), Arc::default());
        let strict = Strict {
            inner: script.service(),
            is_ready: false,
            polls: Arc::clone(&polls),
        };
        let mut service = ServiceBuilder::new()
            .layer(RetryLayer::new(policy))
            .service(strict);
        for _ in 0..2 {
            let ready = service.ready().await.unwrap();
            assert_eq!(ready.call(String::new()).await.unwrap(), 200);
        }
        assert_eq!(polls.load(Ordering::Relaxed), 3 + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_inside_is_kept_over_retries_and_never_held_in_a_wait() {
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let calls = Arc::new(AtomicU32::new(0));
    let service = service_fn(move |(): ()| {
        let (now, peak, calls) = (Arc::clone(&now), Arc::clone(&peak), Arc::clone(&calls));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            clock::sleep(ms(5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            match calls.fetch_add(1, Ordering::SeqCst) % 3 {
                2 => Ok(()),
                _ => Err(refused()),
            }
        }
    });
    let limited = ConcurrencyLimit::new(service, 2);
    let policy = POLICY.max_attempts(50);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(policy))
        .service(limited);
    let tasks: Vec<_> = (0..20)
        .map(|_| tokio::spawn(service.clone().oneshot(())))
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_gives_the_permit_and_the_probe_back() {
    let rule = BreakerRule::DEFAULT.minimum_calls(1).open_for(ms(100));
    let breaker = Arc::new(Breaker::new(rule));
    let pipeline = Pipeline::new()
        .retry(POLICY.max_attempts(1))
        .breaker(Arc::clone(&breaker));
    let behaviour = Arc::new(AtomicU32::new(0));
    let mode = Arc::clone(&behaviour);
    let service = service_fn(move |(): ()| {
        let mode = mode.load(Ordering::Relaxed);
        async move {
            match mode {
                0 => Err(refused()),
                1 => std::future::pending().await,
                _ => Ok(()),
            }
        }
    });
    let limited = ConcurrencyLimit::new(service, 1);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::shared(Arc::new(pipeline)))
        .service(limited);
    service.clone().oneshot(()).await.unwrap_err();
    assert_eq!(breaker.state(clock::now()), BreakerState::Open);
    let refused_by_breaker = service.clone().oneshot(()).await.unwrap_err();
    assert_eq!(gave_up(&refused_by_breaker), (StopReason::Breaker, 0));

    clock::sleep(ms(100)).await;
    behaviour.store(1, Ordering::Relaxed);
    let probe = tokio::time::timeout(ms(1), service.clone().oneshot(())).await;
    assert!(probe.is_err(), "dropped in the middle of its attempt");
    behaviour.store(2, Ordering::Relaxed);
    service.oneshot(()).await.unwrap();
    assert_eq!(breaker.state(clock::now()), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_shared_by_all_clones() {
    let budget = Arc::new(Budget::new(BudgetRule::ratio(0.5)));
    let pipeline = Pipeline::new().retry(POLICY).budget(budget);
    let script = Script::new([REFUSED]);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(pipeline))
        .service(script.service());
    for _ in 0..10 {
        service.clone().oneshot(String::new()).await.unwrap_err();
    }
    assert_eq!(script.asked().len(), 15);
}

#[tokio::test(start_paused = true)]
async fn layers_inside_loops_do_not_multiply() {
    let script = Script::new([Ok(503)]);
    let layer = RetryLayer::new(POLICY).judge(by_status);
    let twice = ServiceBuilder::new()
        .layer(
            RetryLayer::new(POLICY).judge(|result: &Result<u16, BoxError>| match result {
                Ok(500..) | Err(_) => Some(Class::Transient),
                Ok(_) => None,
            }),
        )
        .layer(layer)
        .service(script.service());
    let outer = POLICY
        .run(async |_| match twice.clone().oneshot(String::new()).await {
            Ok(503) => Err(refused()),
            other => panic!("{other:?}"),
        })
        .await;
    let outer: GaveUp<io::Error> = outer.map(|(): ()| ()).unwrap_err();
    assert_eq!((outer.reason, outer.attempts), (StopReason::Nested, 1));
    assert_eq!(script.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_outer_deadline_is_seen_inside() {
    let script = Script::new([REFUSED]);
    let layer = RetryLayer::new(Policy::fixed(ms(400)).jitter(Jitter::None).unlimited_attempts());
    let service = ServiceBuilder::new().layer(layer).service(script.service());
    let policy = POLICY.deadline(ms(1_000));
    let outer = policy.run(async |_| {
        let result = service.clone().oneshot(String::new()).await;
        result.map_err(io::Error::other)
    });
    assert!(outer.await.is_err());
    assert_eq!(script.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_observer_is_told_of_errors_and_of_responses() {
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<String>>>);
    impl Observer for Told {
        fn on_retry(&self, event: &RetryEvent<'_>) {
            let line = format!("{} {}: {}", event.attempt, event.error_type, event.error);
            self.0.lock().expect("nobody panicked").push(line);
        }
    }
    let told = Told::default();
    let script = Script::new([Ok(503), REFUSED, Ok(200)]);
    let layer = RetryLayer::new(POLICY).judge(by_status).observe(told.clone());
    let service = ServiceBuilder::new().layer(layer).service(script.service());
    service.oneshot(String::new()).await.unwrap();
    let told = told.0.lock().unwrap().clone();
    assert_eq!(
        told,
        [
            "1 u16: the response was judged transient",
            "2 Error: connection refused"
        ]
    );
}
