use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use proptest::prelude::*;
use redeliver_policy::{Class, Classify, Jitter, Policy, Reset, StopReason};

use super::*;
use crate::{GaveUp, Observer, RetryEvent, StopEvent, clock, clock::Timer};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 100, 200, 400, 800, 1000, 1000, … for ever.
const PLAIN: Policy = Policy::exponential(ms(100), ms(1_000))
    .jitter(Jitter::None)
    .unlimited_attempts();

#[derive(Clone, Debug, PartialEq)]
struct Broken(Class);

impl Classify for Broken {
    fn class(&self) -> Class {
        self.0
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken")
    }
}

const BROKEN: Broken = Broken(Class::Transient);

/// What one connection does.
#[derive(Clone, Debug)]
enum Step {
    Item(u32),
    Pause(Duration),
    Fail(Class),
    Hang,
}

struct Script {
    steps: VecDeque<Step>,
    pause: Option<Timer>,
}

impl Stream for Script {
    type Item = Result<u32, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(Pin::new(pause).poll(context));
                self.pause = None;
            }
            return match self.steps.pop_front() {
                None => Poll::Ready(None),
                Some(Step::Item(item)) => Poll::Ready(Some(Ok(item))),
                Some(Step::Fail(class)) => Poll::Ready(Some(Err(Broken(class)))),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    Poll::Pending
                }
                Some(Step::Pause(pause)) => {
                    self.pause = Some(Timer::limit(pause));
                    continue;
                }
            };
        }
    }
}

/// How one connection goes: refused, never answered, or up with these steps.
#[derive(Clone, Debug)]
enum Try {
    Refused(Class),
    Silent,
    Up(Vec<Step>),
}

/// Connects as listed; past the list, it is refused for good.
fn factory(tries: Vec<Try>) -> impl FnMut(Connect) -> Connecting {
    let mut tries = VecDeque::from(tries);
    move |_| match tries.pop_front() {
        None => Box::pin(async { Err(Broken(Class::Permanent)) }),
        Some(Try::Refused(class)) => Box::pin(async move { Err(Broken(class)) }),
        Some(Try::Silent) => Box::pin(std::future::pending()),
        Some(Try::Up(steps)) => Box::pin(async move {
            Ok(Script {
                steps: steps.into(),
                pause: None,
            })
        }),
    }
}

type Connecting = Pin<Box<dyn Future<Output = Result<Script, Broken>>>>;

async fn all<S: Stream>(stream: S) -> Vec<S::Item> {
    let mut stream = pin!(stream);
    let mut items = Vec::new();
    while let Some(item) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        items.push(item);
    }
    items
}

/// The waits of each loss, and how it all ended.
async fn waits(policy: Policy, reset: Reset, tries: Vec<Try>) -> (Vec<u64>, GaveUp<Broken>) {
    let mut waits = Vec::new();
    for event in all(Reconnecting::new(policy, factory(tries)).reset(reset).events()).await {
        match event {
            Ok(StreamEvent::Disconnected(lost)) => waits.push(lost.wait.as_millis() as u64),
            Ok(_) => {}
            Err(gave_up) => return (waits, gave_up),
        }
    }
    panic!("ended without giving up")
}

fn refused() -> Try {
    Try::Refused(Class::Transient)
}

fn up(steps: &[Step]) -> Try {
    let mut steps = steps.to_vec();
    steps.push(Step::Fail(Class::Unknown));
    Try::Up(steps)
}

#[tokio::test(start_paused = true)]
async fn items_of_all_connections_come_in_one_stream() {
    let mut connections = factory(vec![
        up(&[Step::Item(1), Step::Item(2)]),
        refused(),
        Try::Up(vec![Step::Item(3)]),
    ]);
    let start = clock::now();
    let items = all((move || {
        connections(Connect {
            number: 0,
            failures: 0,
            timeout: None,
        })
    })
    .reconnecting(PLAIN))
    .await;
    assert_eq!(items, [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(clock::now().since(start).as_millis(), 100 + 200);
}

#[tokio::test(start_paused = true)]
async fn the_count_starts_again_as_the_reset_says() {
    let second = Step::Pause(ms(1_000));
    let script = || {
        vec![
            refused(),
            refused(),
            refused(),
            up(&[]),
            up(&[Step::Item(1)]),
            up(std::slice::from_ref(&second)),
            up(&[second.clone(), second.clone(), Step::Item(2)]),
        ]
    };
    for (reset, expected) in [
        (Reset::Never, [100, 200, 400, 800, 1_000, 1_000, 1_000]),
        (Reset::AfterFirstItem, [100, 200, 400, 800, 100, 200, 100]),
        (Reset::AfterUp(ms(1_000)), [100, 200, 400, 800, 1_000, 100, 100]),
        // A second up forgives two of five failures, two seconds four of the four that are left.
        (Reset::Decay(ms(500)), [100, 200, 400, 800, 1_000, 800, 100]),
    ] {
        let (waits, gave_up) = waits(PLAIN, reset, script()).await;
        assert_eq!(waits, expected, "{reset:?}");
        assert_eq!(gave_up.reason, StopReason::Permanent);
        assert_eq!(gave_up.last_error, Some(Broken(Class::Permanent)));
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_failures_in_a_row() {
    let policy = PLAIN.max_attempts(3);
    let script = vec![refused(), refused(), up(&[Step::Item(1)]), refused(), refused()];
    let (waits, gave_up) = waits(policy, Reset::AfterFirstItem, script).await;
    assert_eq!(waits, [100, 200, 100, 200]);
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Attempts, 3));
    assert_eq!(gave_up.elapsed, ms(300));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_of_one_outage() {
    let policy = PLAIN.deadline(ms(1_000));
    let long = Step::Pause(ms(5_000));
    let script = vec![
        refused(),
        refused(),
        up(&[Step::Item(1), long]),
        refused(),
        refused(),
        refused(),
        refused(),
    ];
    let (waits, gave_up) = waits(policy, Reset::AfterFirstItem, script).await;
    // 100 + 200 + 400 are waited; 800 more would pass the second.
    assert_eq!(waits, [100, 200, 100, 200, 400]);
    assert_eq!(gave_up.reason, StopReason::Deadline);
    assert_eq!(gave_up.elapsed, ms(700));
}

#[tokio::test(start_paused = true)]
async fn connecting_and_silence_are_limited() {
    let policy = PLAIN.attempt_timeout(ms(50));
    let tries = vec![
        Try::Silent,
        Try::Up(vec![
            Step::Item(1),
            Step::Pause(ms(290)),
            Step::Item(2),
            Step::Hang,
        ]),
        Try::Up(vec![Step::Item(3)]),
    ];
    let stream = Reconnecting::new(policy, factory(tries)).idle_timeout(ms(300));
    let causes: Vec<_> = all(stream.events())
        .await
        .into_iter()
        .filter_map(|event| match event.unwrap() {
            StreamEvent::Disconnected(lost) => Some((lost.cause, lost.up_for, lost.items)),
            _ => None,
        })
        .collect();
    let expected = [
        (Cause::ConnectTimeout(ms(50)), None, 0),
        (Cause::Idle(ms(300)), Some(ms(590)), 2),
    ];
    assert_eq!(causes, expected);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_ends_is_done_or_lost_as_one_wishes() {
    let tries = || vec![Try::Up(vec![Step::Item(1)]), Try::Up(vec![Step::Item(2)])];
    assert_eq!(all(Reconnecting::new(PLAIN, factory(tries()))).await, [Ok(1)]);
    let items = all(Reconnecting::new(PLAIN, factory(tries())).reconnect_on_end(true)).await;
    assert_eq!(items[..2], [Ok(1), Ok(2)]);
    assert_eq!(items[2].as_ref().unwrap_err().reason, StopReason::Permanent);
}

#[tokio::test(start_paused = true)]
async fn the_callers_condition_ends_it_with_the_error() {
    let tries = vec![refused(), up(&[Step::Item(1)]), refused(), up(&[Step::Item(2)])];
    let stream = Reconnecting::new(PLAIN, factory(tries)).while_(|lost| lost.number < 3);
    let items = all(stream).await;
    assert_eq!(items[0], Ok(1));
    let gave_up = items[1].as_ref().unwrap_err();
    assert_eq!(
        (gave_up.reason, &gave_up.last_error),
        (StopReason::Cancelled, &Some(BROKEN))
    );
}

#[tokio::test(start_paused = true)]
async fn until_ends_it_without_an_error_wherever_it_is() {
    for (first, after) in [
        (Try::Silent, 10),
        (Try::Up(vec![Step::Hang]), 10),
        (refused(), 10),
    ] {
        let start = clock::now();
        let stream = Reconnecting::new(PLAIN, factory(vec![first])).until(Timer::limit(ms(after)));
        assert_eq!(all(stream).await, []);
        assert_eq!(clock::now().since(start), ms(after));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_when_is_obeyed() {
    let throttled = Try::Refused(Class::throttled_for(Duration::from_secs(7)));
    let (waits, gave_up) = waits(
        PLAIN,
        Reset::default(),
        vec![
            throttled,
            Try::Refused(Class::throttled_for(Duration::from_secs(999))),
        ],
    )
    .await;
    assert_eq!(waits, [7_000]);
    assert_eq!(gave_up.reason, StopReason::RetryAfter);
}

#[derive(Default)]
struct Record(Mutex<Vec<String>>);

impl Observer for Record {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        let line = format!(
            "{} {} {:?} {}",
            event.attempt, event.error_type, event.delay, event.error
        );
        self.0.lock().unwrap().push(line);
    }

    fn on_recovery(&self, attempts: u32) {
        self.0.lock().unwrap().push(format!("recovered {attempts}"));
    }

    fn on_stop(&self, event: &StopEvent<'_>) {
        self.0
            .lock()
            .unwrap()
            .push(format!("stopped {}", event.reason.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn observers_see_what_the_events_tell() {
    let record = Arc::new(Record::default());
    let tries = vec![up(&[Step::Item(1)]), refused(), Try::Up(vec![Step::Item(2)])];
    let stream = Reconnecting::new(PLAIN, factory(tries)).observe(Arc::clone(&record));
    let events = all(stream.reconnect_on_end(true).events()).await;
    let lines = record.0.lock().unwrap().clone();
    assert_eq!(
        lines,
        [
            "1 Broken 100ms broken",
            "2 Broken 200ms broken",
            "recovered 3",
            "1 Ended 100ms the stream ended",
            "stopped permanent",
        ]
    );
    let connected: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Ok(StreamEvent::Connected(connection)) => Some((connection.number, connection.down_for)),
            _ => None,
        })
        .collect();
    assert_eq!(connected, [(1, Duration::ZERO), (3, ms(300))]);
}

#[tokio::test(start_paused = true)]
async fn a_factory_knows_which_connection_it_is_asked_for() {
    let asked = RefCell::new(Vec::new());
    let mut tries = factory(vec![up(&[Step::Item(1)]), refused(), refused()]);
    let policy = PLAIN.attempt_timeout(ms(9));
    let stream = Reconnecting::new(policy, |connect: Connect| {
        asked
            .borrow_mut()
            .push((connect.number, connect.failures, connect.timeout));
        tries(connect)
    });
    all(stream).await;
    let timeout = Some(ms(9));
    assert_eq!(
        *asked.borrow(),
        [(1, 0, timeout), (2, 1, timeout), (3, 2, timeout), (4, 3, timeout)]
    );
}

fn a_try() -> impl Strategy<Value = Try> {
    let steps = prop_oneof![
        4 => any::<u32>().prop_map(Step::Item),
        1 => (0_u64..3_000).prop_map(|pause| Step::Pause(ms(pause))),
    ];
    prop_oneof![
        Just(refused()),
        proptest::collection::vec(steps, 0..5).prop_map(|steps| up(&steps)),
    ]
}

fn a_reset() -> impl Strategy<Value = Reset> {
    prop_oneof![
        Just(Reset::Never),
        Just(Reset::AfterFirstItem),
        (0_u64..2_000).prop_map(|up| Reset::AfterUp(ms(up))),
        (0_u64..2_000).prop_map(|up| Reset::Decay(ms(up))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_breaks_every_item_comes_once_and_in_order(
        tries in proptest::collection::vec(a_try(), 0..20),
        reset in a_reset(),
    ) {
        let expected: Vec<u32> = tries
            .iter()
            .flat_map(|one| match one {
                Try::Up(steps) => steps.clone(),
                _ => Vec::new(),
            })
            .filter_map(|step| match step {
                Step::Item(item) => Some(item),
                _ => None,
            })
            .collect();
        let losses = tries.len();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let events = runtime.block_on(all(Reconnecting::new(PLAIN, factory(tries)).reset(reset).events()));
        let mut items = Vec::new();
        let mut lost = 0;
        for event in &events[..events.len() - 1] {
            match event {
                Ok(StreamEvent::Item(item)) => items.push(*item),
                Ok(StreamEvent::Disconnected(loss)) => {
                    lost += 1;
                    prop_assert!(loss.wait >= ms(100) && loss.wait <= ms(1_000));
                }
                Ok(StreamEvent::Connected(_)) => {}
                Err(gave_up) => panic!("{gave_up}"),
            }
        }
        prop_assert_eq!(items, expected);
        prop_assert_eq!(lost, losses);
        prop_assert_eq!(events.last().unwrap().as_ref().unwrap_err().reason, StopReason::Permanent);
    }
}
