//! The README's first command, as a newcomer runs it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::process::Command;

use serde_json::Value;

fn demo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .arg("demo")
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn ends_by_itself_with_nothing_lost_and_nothing_early() {
    let told = demo(&["--for", "3s", "--json"]);
    let lines: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (summary, events) = lines.split_last().unwrap();
    let figure = |path: &str| {
        summary
            .pointer(&format!("/summary/{path}"))
            .and_then(Value::as_u64)
            .unwrap()
    };
    assert!(figure("payments/authorized") > 0, "{summary}");
    assert_eq!(figure("payments/early_waits"), 0, "{summary}");
    assert_eq!(
        figure("careless/attempts"),
        figure("careless/calls"),
        "sent once: {summary}"
    );
    assert_eq!(
        (figure("stream/lost"), figure("stream/repeated")),
        (0, 0),
        "{summary}"
    );
    assert!(figure("stream/items") > 0, "{summary}");
    assert!(events.iter().any(|event| event["who"] == "payment 1"), "{told}");
}

#[test]
fn says_what_it_does_and_what_to_try_next() {
    let told = demo(&["--for", "0s", "--fail-rate", "100"]);
    assert!(
        told.starts_with("redeliver demo: everything here runs on this machine. It ends after 0s"),
        "{told}"
    );
    assert!(told.contains("answers 100 % of payments with 503"), "{told}");
    assert!(told.contains("What to try next:"), "{told}");
}

#[test]
fn the_help_has_examples() {
    insta::assert_snapshot!(demo(&["--help"]));
}
