//! The README's first command, as a newcomer runs it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::{fs, path::Path, process::Command};

use serde_json::Value;

fn redeliver(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).unwrap()
}

fn demo(arguments: &[&str]) -> String {
    redeliver(&[&["demo"], arguments].concat())
}

fn lines(told: &str) -> Vec<Value> {
    told.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn figure(summary: &Value, path: &str) -> u64 {
    let figure = summary.pointer(&format!("/summary/{path}"));
    figure.and_then(Value::as_u64).unwrap()
}

#[test]
fn the_outbox_delivers_what_was_committed_and_nothing_else() {
    let told = demo(&["--for", "3s", "--json"]);
    let lines = lines(&told);
    let (summary, events) = lines.split_last().unwrap();
    let figure = |path| figure(summary, path);
    assert!(figure("orders/committed") >= 4, "{summary}");
    for all in ["orders/sent", "api/charged"] {
        assert_eq!(figure(all), figure("orders/committed"), "{all}: {summary}");
    }
    assert!(figure("orders/rolled_back") > 0, "{summary}");
    for none in [
        "orders/live",
        "orders/dead",
        "attempts/early",
        "api/never_committed",
    ] {
        assert_eq!(figure(none), 0, "{none}: {summary}");
    }
    assert_eq!(figure("dead_letters/rescued"), 1, "{summary}");
    assert_eq!(figure("attempts/made"), figure("api/requests"), "{summary}");
    let first = |event: &str| events.iter().find(|told| told["event"] == event);
    assert_eq!(first("dead_lettered").unwrap()["reason"], "schema_violation");
    let rescued = &first("redriven").unwrap()["number"];
    let arrived = |told: &&Value| told["event"] == "sent" && told["number"] == *rescued;
    assert_eq!(events.iter().rfind(arrived).unwrap()["redrives"], 1, "{told}");
}

#[test]
fn what_fails_recovers_by_itself() {
    let told = demo(&["--for", "0s", "--fail-rate", "60", "--json"]);
    let lines = lines(&told);
    let retried = lines.iter().find(|told| told["event"] == "retry").unwrap();
    assert_eq!(
        (&retried["attempts"], &retried["status"]),
        (&1.into(), &"failed".into()),
        "{told}"
    );
    assert!(retried["next_attempt_at"].is_string(), "{retried}");
    assert_eq!(figure(lines.last().unwrap(), "orders/live"), 0);
}

#[test]
fn says_what_it_does_and_what_to_try_next() {
    let told = demo(&["--for", "0s", "--fail-rate", "0"]);
    assert!(
        told.starts_with("redeliver demo: a shop, its outbox and an API that fails, all on this machine."),
        "{told}"
    );
    assert!(told.contains("answers 0 % of orders with 503"), "{told}");
    assert!(told.contains("What to try next:"), "{told}");
}

#[test]
fn the_outbox_is_gone_afterwards_unless_it_is_to_be_kept() {
    let kept = demo(&["--for", "0s", "--keep", "--json"]);
    let kept = lines(&kept).pop().unwrap();
    let database = kept["summary"]["database"].as_str().unwrap();
    let status = redeliver(&["status", "--json", "--database", database]);
    assert_eq!(lines(&status)[0]["sent"], kept["summary"]["orders"]["sent"]);
    let rescued = figure(&kept, "dead_letters/rescued_number").to_string();
    let shown = redeliver(&["show", &rescued, "--json", "--database", database]);
    let acts: Vec<Value> = lines(&shown)[0]["audit"].as_array().unwrap().clone();
    let acts: Vec<&str> = acts.iter().map(|act| act["action"].as_str().unwrap()).collect();
    assert_eq!(acts, ["edit", "redrive"]);
    fs::remove_dir_all(kept["summary"]["kept"].as_str().unwrap()).unwrap();

    let gone = lines(&demo(&["--for", "0s", "--json"])).pop().unwrap();
    assert_eq!(gone["summary"]["kept"], Value::Null);
    let file = gone["summary"]["database"].as_str().unwrap();
    let folder = Path::new(file.trim_start_matches("sqlite://")).parent().unwrap();
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn the_call_ends_by_itself_with_nothing_early_and_nothing_repeated() {
    let told = demo(&["--show", "call", "--for", "3s", "--json"]);
    let lines = lines(&told);
    let (summary, events) = lines.split_last().unwrap();
    let figure = |path| figure(summary, path);
    assert!(figure("payments/authorized") > 0, "{summary}");
    assert_eq!(figure("payments/early_waits"), 0, "{summary}");
    assert_eq!(
        figure("careless/attempts"),
        figure("careless/calls"),
        "sent once: {summary}"
    );
    assert!(events.iter().any(|event| event["who"] == "payment 1"), "{told}");
}

#[test]
fn the_stream_ends_by_itself_with_nothing_lost() {
    let told = demo(&["--show", "stream", "--for", "3s", "--json"]);
    let lines = lines(&told);
    let (summary, events) = lines.split_last().unwrap();
    let figure = |path| figure(summary, path);
    assert_eq!(
        (figure("stream/lost"), figure("stream/repeated")),
        (0, 0),
        "{summary}"
    );
    assert!(figure("stream/items") > 0, "{summary}");
    assert_eq!(events[0]["event"], "connected", "{told}");
}

#[test]
fn the_other_shows_say_what_they_do_and_what_to_try_next() {
    let told = demo(&["--show", "call", "--for", "0s", "--fail-rate", "100"]);
    assert!(
        told.starts_with("redeliver demo: everything here runs on this machine. It ends after 0s"),
        "{told}"
    );
    assert!(told.contains("answers 100 % of payments with 503"), "{told}");
    assert!(told.contains("What to try next:"), "{told}");
    let told = demo(&["--show", "stream", "--for", "0s"]);
    assert!(told.contains("drops every dozen items"), "{told}");
    assert!(told.contains("What to try next:"), "{told}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for arguments in [
        &["--show", "call", "--keep"][..],
        &["--exercise", "a", "--show", "call"],
        &["--exercise", "a", "--fail-rate", "0"],
        &["--exercise", "d"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
            .arg("demo")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.starts_with("error: "), "{errors}");
    }
}

#[test]
fn the_help_has_examples() {
    insta::assert_snapshot!(demo(&["--help"]));
}
