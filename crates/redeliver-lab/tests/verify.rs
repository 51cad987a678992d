//! The simulator itself: histories without objection, and the same history for the same seed.

use redeliver_lab::verify::{Sweep, run_seed};

#[test]
fn the_relay_stands_a_number_of_histories() {
    let seeds = std::env::var("SEEDS").map_or(30, |seeds| seeds.parse().unwrap());
    let first = std::env::var("FIRST").map_or(0, |seeds| seeds.parse().unwrap());
    let sweep = Sweep {
        first,
        seeds,
        plant: None,
        threads: None,
    };
    let swept = sweep.run(|_| ()).unwrap();
    if let Some(violation) = &swept.violation {
        panic!(
            "seed {}, checker {}: message {:?}: {}\n{}",
            violation.seed,
            violation.checker,
            violation.message,
            violation.what,
            violation.history.join("\n")
        );
    }
    println!("{:#?}", swept.counts);
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..6 {
        let (first, second) = (run_seed(seed, None).unwrap(), run_seed(seed, None).unwrap());
        assert_eq!(first.fingerprint, second.fingerprint, "seed {seed}");
        assert_eq!(first.counts, second.counts, "seed {seed}");
    }
}

/// Whatever the time at which each of them began.
#[test]
fn a_history_does_not_depend_on_when_it_began() {
    let first = run_seed(4, None).unwrap().fingerprint;
    for _ in 0..5 {
        // Some part of a second goes by with another history.
        run_seed(1, None).unwrap();
        assert_eq!(run_seed(4, None).unwrap().fingerprint, first);
    }
}
