//! The README's first command, as a newcomer runs it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Command, Stdio},
};

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

fn outbox(arguments: &[&str]) -> String {
    demo(&[&["--show", "outbox"], arguments].concat())
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

/// The desk's events of this name at this destination.
fn told<'a>(events: &'a [Value], name: &str, destination: &str) -> Vec<&'a Value> {
    let found = events.iter();
    found
        .filter(|event| event["event"] == name && event["destination"] == destination)
        .collect()
}

fn check_the_desks_figures(summary: &Value) {
    let figure = |path| figure(summary, path);
    assert_eq!(summary["summary"]["broken"], Value::Null, "{summary}");
    assert_eq!(
        figure("messages/committed"),
        figure("messages/sent") + figure("messages/dead") + figure("messages/live"),
        "{summary}"
    );
    for none in [
        "rolled_back/stored",
        "rolled_back/heard_by_the_api",
        "early",
        "never_taken",
        "messages/events_waiting",
        "messages/of_others",
    ] {
        assert_eq!(figure(none), 0, "{none}: {summary}");
    }
}

#[test]
fn the_desk_shows_retries_throttling_an_outage_and_dead_letters_of_three_kinds() {
    let lines = lines(&demo(&["--for", "12s", "--json"]));
    let (summary, events) = lines.split_last().unwrap();
    let dashboard = events[0]["dashboard"].as_str().unwrap();
    assert!(dashboard.starts_with("http://127.0.0.1:"), "{dashboard}");

    for (name, destination) in [
        ("retry", "email"),
        ("throttled", "search"),
        ("retry", "warehouse"),
        ("probe", "warehouse"),
    ] {
        assert!(
            !told(events, name, destination).is_empty(),
            "{name} {destination}: {events:?}"
        );
    }
    let at = |name| told(events, name, "warehouse")[0]["at_ms"].as_u64().unwrap();
    assert!(at("breaker_opened") < at("recovered"), "{events:?}");
    let kinds = told(events, "dead_letters", "crm");
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    let unsent = |kind: &&&Value| kind["reason"] == "invalid_payload";
    assert_eq!(kinds.iter().filter(unsent).count(), 1, "{kinds:?}");

    check_the_desks_figures(summary);
    let figure = |path: &str| figure(summary, path);
    assert!(figure("orders/rolled_back") > 0, "{summary}");
    for destination in ["billing", "email", "search", "warehouse", "crm"] {
        for some in ["sent", "requests"] {
            assert!(
                figure(&format!("destinations/{destination}/{some}")) > 0,
                "{destination} {some}: {summary}"
            );
        }
    }
    assert_eq!(figure("destinations/billing/retries"), 0, "{summary}");
    assert_eq!(
        figure("destinations/crm/dead"),
        figure("messages/dead"),
        "{summary}"
    );
    let all = |destination: &str| {
        let of = |what: &str| figure(&format!("destinations/{destination}/{what}"));
        of("sent") + of("waiting")
    };
    assert_eq!((all("email"), all("search")), (all("billing"), all("billing")));
}

#[test]
fn the_desk_says_where_to_look_and_what_to_try() {
    let told = demo(&["--for", "1s"]);
    assert!(told.starts_with("\n  dashboard   http://127.0.0.1:"), "{told}");
    for words in [
        "redeliver destination list",
        "email       fails 30 % of the time",
        "It ends after 1s",
        "worst lag",
        "Nothing was lost, invented or early",
        "What to try next:",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let told = demo(&["--for", "1ms", "--listen", "off", "--fail-rate", "7"]);
    assert!(told.starts_with("\n  no dashboard"), "{told}");
    assert!(told.contains("email       fails 7 % of the time"), "{told}");
}

#[test]
fn the_desks_configuration_is_what_the_commands_read() {
    let kept = lines(&demo(&["--for", "1s", "--listen", "off", "--keep", "--json"]));
    let summary = kept.last().unwrap();
    check_the_desks_figures(summary);
    let config = summary["summary"]["config"].as_str().unwrap();
    let status = redeliver(&["status", "--json", "--config", config]);
    let status = &lines(&status)[0];
    for destination in ["billing", "email", "search", "warehouse", "crm"] {
        assert_eq!(
            status["destinations"][destination]["sent"].as_u64().unwrap(),
            figure(summary, &format!("destinations/{destination}/sent")),
            "{destination}: {status}"
        );
    }
    let folder = summary["summary"]["kept"].as_str().unwrap();
    fs::remove_dir_all(folder).unwrap();

    let gone = lines(&demo(&["--for", "1ms", "--listen", "off", "--json"]));
    let config = gone.last().unwrap()["summary"]["config"].as_str().unwrap();
    assert!(!Path::new(config).parent().unwrap().exists(), "{config}");
}

/// Whoever has an outbox in earnest has its address in the environment, and tries the demo all the same.
#[test]
fn no_variable_leads_a_demo_to_another_outbox() {
    let folder = std::env::temp_dir().join(format!("redeliver-demo-earnest-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let earnest = folder.join("earnest.db");
    for arguments in [
        &["--for", "1s", "--listen", "127.0.0.1:0"][..],
        &["--show", "outbox", "--for", "0s"],
        &["--exercise", "b"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
            .arg("demo")
            .args(arguments)
            .env("REDELIVER_DATABASE", format!("sqlite://{}", earnest.display()))
            .env("REDELIVER_PREFIX", "earnest_")
            .env("REDELIVER_LISTEN", "nowhere")
            .env("REDELIVER_SERVER__LISTEN", "off")
            .env("REDELIVER_DESTINATIONS__BILLING__URL", "http://192.0.2.1/")
            .env("REDELIVER_RELAY__WORKERS", "many")
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(!earnest.exists(), "{arguments:?}");
        let told = String::from_utf8(output.stdout).unwrap();
        if arguments.contains(&"--listen") {
            assert!(told.contains("dashboard   http://127.0.0.1:"), "{told}");
            assert!(told.contains("unset REDELIVER_DATABASE"), "{told}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_desk_with_its_summary() {
    let mut desk = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .args(["demo", "--json", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(desk.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"throttled\"") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &desk.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(desk.wait().unwrap().code(), Some(0));
    check_the_desks_figures(lines(&rest).last().unwrap());
}

/// A browser that writes the address that it was given into a pipe, from which it is read.
#[cfg(target_os = "linux")]
#[test]
fn the_dashboard_is_opened_if_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = std::env::temp_dir().join(format!("redeliver-demo-browser-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let (browser, pipe) = (folder.join("xdg-open"), folder.join("pipe"));
    fs::write(
        &browser,
        format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", pipe.display()),
    )
    .unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("timeout")
        .args(["60", "cat"])
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .args(["demo", "--for", "1ms", "--open", "--json"])
        .env("PATH", &folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let opened = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
    let told = lines(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(told[0]["dashboard"], opened.as_str());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_outbox_delivers_what_was_committed_and_nothing_else() {
    let told = outbox(&["--for", "3s", "--json"]);
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
    let told = outbox(&["--for", "0s", "--fail-rate", "60", "--json"]);
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
fn the_story_says_what_it_does_and_what_to_try_next() {
    let told = outbox(&["--for", "0s", "--fail-rate", "0"]);
    assert!(
        told.starts_with("redeliver demo: a shop, its outbox and an API that fails, all on this machine."),
        "{told}"
    );
    assert!(told.contains("answers 0 % of orders with 503"), "{told}");
    assert!(told.contains("What to try next:"), "{told}");
}

#[test]
fn the_outbox_is_gone_afterwards_unless_it_is_to_be_kept() {
    let kept = outbox(&["--for", "0s", "--keep", "--json"]);
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

    let gone = lines(&outbox(&["--for", "0s", "--json"])).pop().unwrap();
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
        &["--exercise", "a", "--open"],
        &["--exercise", "d"],
        &["--show", "outbox", "--listen", "off"],
        &["--show", "stream", "--open"],
        &["--open", "--listen", "off"],
        &["--listen", "0.0.0.0:8420"],
        &["--listen", "here"],
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
