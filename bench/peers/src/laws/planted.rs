//! A law that cannot fail proves nothing: each is run on a backoff with that fault planted, and on one without.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::wait_cost::ByHand;
use super::{Effort, budget, cap, copies, deadline, million, retry_after, spread};
use crate::finding::Verdict;
use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::Server;

/// A backoff made of the number of the wait and the number of the copy.
trait Fault {
    fn wait(number: u32, chance: &mut fastrand::Rng) -> Option<Duration>;
}

struct Planted<F> {
    number: u32,
    chance: fastrand::Rng,
    fault: std::marker::PhantomData<F>,
}

impl<F: Fault> Schedule for Planted<F> {
    type Settings = ();

    fn settings() {}

    fn start((): &()) -> Self {
        Self {
            number: 0,
            chance: fastrand::Rng::new(),
            fault: std::marker::PhantomData,
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.number += 1;
        F::wait(self.number, &mut self.chance)
    }
}

fn drawn(chance: &mut fastrand::Rng) -> Duration {
    CAP.mul_f64(chance.f64())
}

struct JitterOnTopOfTheCap;
impl Fault for JitterOnTopOfTheCap {
    fn wait(_number: u32, chance: &mut fastrand::Rng) -> Option<Duration> {
        Some(CAP.mul_f64(0.6 + chance.f64()))
    }
}

struct FlatAtTheCap;
impl Fault for FlatAtTheCap {
    fn wait(number: u32, chance: &mut fastrand::Rng) -> Option<Duration> {
        Some(if number < 12 { drawn(chance) } else { CAP })
    }
}

struct OneSeedForAll;
impl Fault for OneSeedForAll {
    fn wait(number: u32, _chance: &mut fastrand::Rng) -> Option<Duration> {
        Some(drawn(&mut fastrand::Rng::with_seed(number.into())))
    }
}

struct PanicsLate;
impl Fault for PanicsLate {
    fn wait(number: u32, chance: &mut fastrand::Rng) -> Option<Duration> {
        assert!(number < 999_999, "planted");
        Some(drawn(chance))
    }
}

struct Hammers;
impl Fault for Hammers {
    fn wait(number: u32, chance: &mut fastrand::Rng) -> Option<Duration> {
        Some(if number < 998_000 {
            drawn(chance)
        } else {
            Duration::ZERO
        })
    }
}

struct Ends;
impl Fault for Ends {
    fn wait(number: u32, chance: &mut fastrand::Rng) -> Option<Duration> {
        (number < 500_000).then(|| drawn(chance))
    }
}

const EFFORT: Effort = Effort::QUICK;

#[test]
fn each_law_finds_its_planted_fault() {
    let findings = [
        ("cap", cap::check::<Planted<JitterOnTopOfTheCap>>(EFFORT)),
        ("spread", spread::check::<Planted<FlatAtTheCap>>(EFFORT)),
        ("copies", copies::check::<Planted<OneSeedForAll>>(EFFORT)),
        ("million, panic", million::check::<Planted<PanicsLate>>(EFFORT)),
        ("million, zeros", million::check::<Planted<Hammers>>(EFFORT)),
        ("million, ends", million::check::<Planted<Ends>>(EFFORT)),
    ];
    for (law, finding) in findings {
        assert_eq!(finding.verdict, Verdict::Broken, "{law}: {finding:?}");
    }
}

#[test]
fn the_hand_written_full_jitter_keeps_every_law_of_waits() {
    let findings = [
        ("cap", cap::check::<ByHand>(EFFORT)),
        ("spread", spread::check::<ByHand>(EFFORT)),
        ("copies", copies::check::<ByHand>(EFFORT)),
        ("million", million::check::<ByHand>(EFFORT)),
    ];
    for (law, finding) in findings {
        assert_eq!(finding.verdict, Verdict::Kept, "{law}: {finding:?}");
    }
}

/// A hand-written client that keeps, or breaks, the laws that need a server.
struct Client<const FAULTY: bool>;

impl<const FAULTY: bool> Peer for Client<FAULTY> {
    const PACKAGE: &'static str = "planted";
    const SETTINGS: &'static str = "";

    type Schedule = ByHand;

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            while let Err(refused) = server.call().await {
                let wait = refused.retry_after.unwrap_or(BASE);
                sleep(if FAULTY { wait.min(CAP) } else { wait }).await;
            }
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let end = Instant::now() + limit.total;
            let mut wait = limit.base;
            while server.call().await.is_err() {
                let next = Instant::now() + if FAULTY { Duration::ZERO } else { wait };
                if next > end {
                    return;
                }
                sleep(wait).await;
                wait = (wait * 2).min(limit.cap);
            }
        }))
    }

    fn spend_budget(server: &Server, calls: u32, ratio: f64) -> Option<Job<'_>> {
        let percent = (ratio * 100.0).round() as u32;
        Some(Box::pin(async move {
            let mut saved = if FAULTY { 200 } else { 0 };
            for _ in 0..calls {
                saved += percent;
                while server.call().await.is_err() && saved >= 100 {
                    saved -= 100;
                }
            }
        }))
    }
}

#[test]
fn the_laws_that_need_a_server_find_a_faulty_client_and_no_other() {
    let good = [
        ("retry-after", retry_after::check::<Client<false>>(EFFORT)),
        ("deadline", deadline::check::<Client<false>>(EFFORT)),
        ("budget", budget::check::<Client<false>>(EFFORT)),
    ];
    for (law, finding) in good {
        assert_eq!(finding.verdict, Verdict::Kept, "{law}: {finding:?}");
    }
    let faulty = [
        ("retry-after", retry_after::check::<Client<true>>(EFFORT)),
        ("deadline", deadline::check::<Client<true>>(EFFORT)),
        ("budget", budget::check::<Client<true>>(EFFORT)),
    ];
    for (law, finding) in faulty {
        assert_eq!(finding.verdict, Verdict::Broken, "{law}: {finding:?}");
    }
}
