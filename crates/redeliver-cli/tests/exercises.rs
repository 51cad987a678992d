//! The exercises of the documents, run as they are written: each step was checked against the database by the command itself; here it
//! is looked at what it found.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::process::Command;

use serde_json::{Value, json};

struct Told {
    steps: Vec<Value>,
    notes: Vec<Value>,
}

impl Told {
    fn step(&self, number: u64) -> Vec<&Value> {
        let steps = self.steps.iter().filter(|step| step["step"] == number);
        steps.collect()
    }
}

#[track_caller]
fn exercise(letter: &str, seed: &str) -> Told {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .args(["demo", "--exercise", letter, "--seed", seed, "--json"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}{errors}");
    let lines: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (end, lines) = lines.split_last().unwrap();
    let expected = json!({ "exercise": letter, "held": true, "broken": [], "kept": null });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&end["summary"][name], value, "{end}");
    }
    let (steps, notes): (Vec<Value>, Vec<Value>) =
        lines.iter().cloned().partition(|line| line["event"] == "step");
    assert!(steps.iter().all(|step| step["held"] == true), "{told}");
    Told { steps, notes }
}

#[test]
fn a_passing_failures_are_retried_until_they_are_sent() {
    for seed in ["1", "2"] {
        let told = exercise("a", seed);
        assert_eq!(told.steps.len(), 4);
        let grown = told.step(2)[0];
        assert!(grown["failed_attempts"].as_u64() > Some(0), "{grown}");
        assert!(grown["most"].as_u64() > Some(0), "{grown}");
        let waiting = told
            .notes
            .iter()
            .find(|note| note["in_the_future"] == true)
            .unwrap();
        assert_eq!(waiting["status"], "failed");
        assert!(waiting["attempts"].as_u64() > Some(0), "{waiting}");
        assert_eq!(told.step(3)[0]["early"], 0);
        let end = told.step(4)[0];
        assert_eq!((&end["sent"], &end["charged"]), (&json!(30), &json!(30)));
    }
}

#[test]
fn b_what_can_never_succeed_is_quarantined_unsent() {
    let told = exercise("b", "1");
    assert_eq!(told.step(2)[0]["attempts"], json!([0, 0]));
    let [lacking, cut, sound] = told.step(3)[..] else {
        panic!("{:?}", told.steps);
    };
    for (letter, reason, error) in [
        (lacking, "schema_violation", "\"total\" is a required property"),
        (cut, "invalid_payload", "the payload is no JSON"),
    ] {
        assert_eq!(
            (&letter["status"], &letter["reason"]),
            (&json!("dead_lettered"), &json!(reason))
        );
        assert!(letter["last_error"].as_str().unwrap().contains(error), "{letter}");
    }
    assert_eq!(sound["status"], "sent");
}

#[test]
fn c_a_person_rescues_a_dead_letter() {
    let told = exercise("c", "1");
    assert!(told.step(1)[0]["last_error"].as_str().unwrap().contains("total"));
    assert!(told.step(2)[0]["payload"].as_str().unwrap().contains("total"));
    let [back, arrived] = told.step(3)[..] else {
        panic!("{:?}", told.steps);
    };
    assert_eq!(
        (&back["status"], &back["attempts"]),
        (&json!("pending"), &json!(0))
    );
    assert_eq!(back["audit"], json!(["edit", "redrive"]));
    assert_eq!(arrived["status"], "sent");
    let again = told.step(4)[0];
    assert_eq!(
        (&again["requests"], &again["charged"], &again["replayed"]),
        (&json!(2), &json!(2), &json!(1)),
        "{again}"
    );
}
