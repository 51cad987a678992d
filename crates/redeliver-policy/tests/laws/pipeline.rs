//! Laws of the pipeline: whatever the stages and whatever happens, every permit goes back and no limit is passed.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use redeliver_policy::{
    Breaker, BreakerRule, BreakerState, Budget, BudgetRule, Class, Conduct, Decision, Failure, Moment, Outer,
    Pipeline, PipelineRun, Policy, StopReason,
};

use crate::strategies::any_class;

#[derive(Clone, Debug)]
enum Layer {
    Timeout(u64),
    Retry,
    Budget,
    Breaker,
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let layer = prop_oneof![
        3 => (1u64..3_000).prop_map(Layer::Timeout),
        2 => Just(Layer::Retry),
        1 => Just(Layer::Budget),
        3 => Just(Layer::Breaker),
    ];
    prop::collection::vec(layer, 0..7)
}

#[derive(Clone, Debug)]
enum Event {
    Success,
    Failure(Class),
    TimedOut,
    Dropped,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        1 => Just(Event::Success),
        4 => any_class().prop_map(Event::Failure),
        3 => Just(Event::TimedOut),
        1 => Just(Event::Dropped),
    ];
    prop::collection::vec((0u64..500, event), 1..12)
}

const POLICY: Policy = Policy::exponential(Duration::from_millis(20), Duration::from_millis(200))
    .max_attempts(6)
    .attempt_timeout(Duration::from_millis(900));

/// The pipeline and the breakers in it, each of which takes one probe at a time.
fn build(layers: &[Layer]) -> (Pipeline, Vec<Arc<Breaker>>) {
    let mut breakers = Vec::new();
    let pipeline = layers
        .iter()
        .fold(Pipeline::new(), |pipeline, layer| match layer {
            Layer::Timeout(millis) => pipeline.timeout(Duration::from_millis(*millis)),
            Layer::Retry => pipeline.retry(POLICY),
            Layer::Budget => {
                pipeline.budget(Arc::new(Budget::new(BudgetRule::ratio(0.5).floor_per_second(2))))
            }
            Layer::Breaker => {
                let breaker = Arc::new(Breaker::new(
                    BreakerRule::DEFAULT
                        .minimum_calls(3)
                        .open_for(Duration::from_secs(1)),
                ));
                breakers.push(Arc::clone(&breaker));
                pipeline.breaker(breaker)
            }
        });
    (pipeline, breakers)
}

/// One call driven to its end; the time at which it ended.
fn drive(
    pipeline: &Pipeline,
    start: u64,
    outer: Option<u64>,
    events: &mut impl Iterator<Item = (u64, Event)>,
) -> Result<u64, TestCaseError> {
    let deadline = outer.map_or(Moment::FAR_FUTURE, |left| Moment::from_millis(start + left));
    let mut now = Moment::from_millis(start);
    let mut run = PipelineRun::inside(
        pipeline,
        now,
        Outer {
            deadline,
            ..Outer::NONE
        },
    );
    let mut promised = None;
    for attempt in 1.. {
        let timeout = match run.begin(now, 0) {
            Ok(timeout) => timeout,
            Err(reason) => {
                prop_assert!(matches!(reason, StopReason::Breaker | StopReason::Deadline));
                break;
            }
        };
        if let Some(promised) = promised {
            prop_assert_eq!(timeout, promised, "another timeout than the decision said");
        }
        prop_assert!(attempt <= 6);
        let end = timeout.map_or(Moment::FAR_FUTURE, |timeout| now.plus(timeout));
        prop_assert!(end <= run.deadline() && end <= deadline || end == Moment::FAR_FUTURE);
        let Some((took, event)) = events.next() else { break };
        let finished = now.plus(Duration::from_millis(took));
        let failure = match event {
            Event::Dropped => break,
            Event::Success if finished < end => {
                run.on_success(finished);
                now = finished;
                break;
            }
            Event::Failure(class) if finished < end => {
                now = finished;
                Failure::from(class)
            }
            _ if timeout.is_some() => {
                now = end;
                Failure::TIMED_OUT
            }
            _ => break,
        };
        match run.on_failure(now, failure, 7) {
            Decision::Stop(_) => break,
            Decision::Retry {
                after,
                attempt_timeout,
            } => {
                now = now.plus(after);
                prop_assert!(now < run.deadline());
                promised = Some(attempt_timeout);
            }
        }
    }
    Ok(now.as_nanos() / 1_000_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn every_permit_goes_back_and_no_limit_is_passed(
        layers in layers(), calls in prop::collection::vec((prop::option::of(1u64..2_000), 0u64..800), 1..12), events in events(),
    ) {
        let (pipeline, breakers) = build(&layers);
        let mut events = events.into_iter().cycle();
        let mut now = 0;
        for (outer, pause) in calls {
            now = drive(&pipeline, now, outer, &mut events)? + pause;
        }
        // A lost permit would hold the one probe's place for ever.
        let later = Moment::from_millis(now + 10_000);
        for breaker in breakers {
            prop_assert!(breaker.admit(later, 0).is_ok(), "{} lost a permit in {}", now, pipeline);
        }
    }

    #[test]
    fn the_first_stages_decide_what_a_timeout_means(inside in 1u64..100, around in 1u64..100, retried in any::<bool>()) {
        let breaker = Arc::new(Breaker::new(BreakerRule::DEFAULT.minimum_calls(1)));
        let layers = |pipeline: Pipeline| if retried { pipeline.retry(Policy::fixed(Duration::from_secs(9))) } else { pipeline };
        let pipeline = layers(Pipeline::new().timeout(Duration::from_millis(around)))
            .breaker(breaker.clone())
            .timeout(Duration::from_millis(inside));
        let mut run = PipelineRun::new(&pipeline, Moment::ZERO);
        let timeout = run.begin(Moment::ZERO, 0).unwrap().unwrap();
        prop_assert_eq!(timeout, Duration::from_millis(inside.min(around)));
        let end = Moment::ZERO.plus(timeout);
        let _ = run.on_failure(end, Failure::TIMED_OUT, 0);
        let expected = if inside < around { BreakerState::Open } else { BreakerState::Closed };
        prop_assert_eq!(breaker.state(end), expected);
    }
}
