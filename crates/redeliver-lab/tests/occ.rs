//! The contention model against AWS's own simulator, and against itself.

use std::time::Duration;

use redeliver_lab::occ::{AWS_CLIENTS, Cell, Contention, Kind, MAX_CLIENTS};
use redeliver_policy::{Jitter, Policy};

const CALLS_TOLERANCE: f64 = 0.03;
const TIME_TOLERANCE: f64 = 0.12;

fn at_aws_clients(seed: u64) -> Vec<Cell> {
    let contention = Contention {
        clients: vec![AWS_CLIENTS],
        seed,
        ..Contention::default()
    };
    contention.run(|_| {}).expect("in range")
}

fn deviation(value: f64, expected: u32) -> f64 {
    (value / f64::from(expected) - 1.0).abs()
}

#[test]
fn agrees_with_awss_simulator_whatever_the_seed() {
    for seed in [0, 1, 42, u64::MAX] {
        let cells = at_aws_clients(seed);
        assert_eq!(cells.iter().map(|cell| cell.kind).collect::<Vec<_>>(), Kind::ALL);
        for cell in cells {
            let aws = cell.kind.aws_figures();
            assert!(
                deviation(cell.calls, aws.calls) < CALLS_TOLERANCE,
                "seed {seed}: {cell:?}"
            );
            assert!(
                deviation(cell.time_ms, aws.time_ms) < TIME_TOLERANCE,
                "seed {seed}: {cell:?}"
            );
        }
    }
}

#[test]
fn a_seed_gives_the_same_cells_whichever_others_are_asked_for() {
    let all = Contention {
        clients: vec![10, 30],
        runs: 20,
        ..Contention::default()
    };
    let cells = all.run(|_| {}).unwrap();
    let alone = Contention {
        clients: vec![30],
        kinds: vec![Kind::Full],
        ..all
    };
    let full = alone.run(|_| {}).unwrap();
    assert_eq!(cells.iter().filter(|cell| **cell == full[0]).count(), 1);
    let reseeded = Contention { seed: 1, ..alone };
    assert_ne!(reseeded.run(|_| {}).unwrap(), full);
}

#[test]
fn one_client_writes_once_and_n_clients_at_most_n_squared_times() {
    let contention = Contention {
        clients: vec![1, 2, 7, 40],
        runs: 30,
        ..Contention::default()
    };
    for cell in contention.run(|_| {}).unwrap() {
        let clients = f64::from(cell.clients);
        assert!(
            cell.calls >= clients && cell.calls <= clients * clients,
            "{cell:?}"
        );
        // Four messages of about 10 ms.
        assert!(cell.time_ms > 30.0, "{cell:?}");
        if cell.clients == 1 {
            assert_eq!(cell.calls, 1.0);
            assert!(cell.time_ms < 45.0, "{cell:?}");
        }
    }
}

#[test]
fn kinds_are_the_policy_crates_own() {
    let (base, cap) = (Duration::from_millis(5), Duration::from_secs(2));
    let doubled = Policy::exponential(base * 2, cap).unlimited_attempts();
    assert_eq!(Kind::Full.policy(base, cap), doubled.jitter(Jitter::Full));
    for kind in Kind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
    }
    assert!("fuzzy".parse::<Kind>().is_err());
}

#[test]
fn numbers_out_of_range_are_named() {
    let default = Contention::default;
    let refused = [
        (
            Contention {
                clients: vec![0],
                ..default()
            },
            "clients 0: must be 1 to 10000",
        ),
        (
            Contention {
                clients: vec![MAX_CLIENTS + 1],
                ..default()
            },
            "clients 10001: must be 1 to 10000",
        ),
        (Contention { runs: 0, ..default() }, "runs 0: must be 1 to 100000"),
        (
            Contention {
                base: Duration::ZERO,
                ..default()
            },
            "base 0s: must be longer than 0s",
        ),
        (
            Contention {
                max: Duration::from_millis(1),
                ..default()
            },
            "max 1ms: must be from the base, 5ms, to 1h",
        ),
    ];
    for (contention, message) in refused {
        assert_eq!(contention.run(|_| {}).unwrap_err().to_string(), message);
    }
    let endless = Contention {
        clients: vec![MAX_CLIENTS; 50],
        ..default()
    };
    let message = endless.run(|_| {}).unwrap_err().to_string();
    assert!(message.contains("fewer runs, clients or kinds"), "{message}");
}
