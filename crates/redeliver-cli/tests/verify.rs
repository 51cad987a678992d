//! `redeliver verify`, as people run it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::process::{Command, Output};

use serde_json::Value;

fn verify(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
    command.arg("verify").args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn histories_pass_and_are_counted() {
    let output = verify(&["--seeds", "3", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let told = json(&output);
    assert_eq!(told["passed"], true, "{told}");
    assert_eq!(told["counts"]["seeds"], 3);
    assert_eq!(told["violation"], Value::Null);
    assert!(told["counts"]["crashes"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn a_seed_is_the_same_history_each_time() {
    let counts = || json(&verify(&["--seed", "7", "--json"]))["counts"].clone();
    assert_eq!(counts(), counts());
}

#[test]
fn bugs_can_be_listed_only_where_they_can_be_planted() {
    let output = verify(&["--list-plants"]);
    let told = String::from_utf8(output.stdout).unwrap();
    if cfg!(feature = "plants") {
        assert!(told.contains("no-fence"), "{told}");
        let found = verify(&["--plant", "no-fence", "--seeds", "50"]);
        assert_eq!(found.status.code(), Some(1));
        let found = String::from_utf8(found.stdout).unwrap();
        assert!(found.contains("replay it with: redeliver verify"), "{found}");
    } else {
        assert_ne!(output.status.code(), Some(0), "{told}");
    }
}
