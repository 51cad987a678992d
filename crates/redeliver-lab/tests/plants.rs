//! The checkers are worth what they find: each planted bug is found, by name and number of histories.

#![cfg(feature = "plants")]

use redeliver_lab::verify::{Plant, Sweep};

/// Every bug is found within so many histories.
const MOST_SEEDS: u64 = 1_000;

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for &plant in Plant::ALL {
        let sweep = Sweep {
            first: 0,
            seeds: MOST_SEEDS,
            plant: Some(plant),
            threads: None,
        };
        match sweep.run(|_| ()).unwrap().violation {
            Some(found) => println!(
                "{plant:<28} seed {:>4}, checker {}: {}",
                found.seed, found.checker, found.what
            ),
            None => missed.push(plant),
        }
    }
    assert!(Plant::ALL.len() >= 30);
    assert!(missed.is_empty(), "not found in {MOST_SEEDS} seeds: {missed:?}");
}
