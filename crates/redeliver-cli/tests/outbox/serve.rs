use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::bench::{Folder, Lab};

#[test]
fn everything_arrives_at_a_server_that_fails_three_times_in_ten() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/payment/authorize");
    let lines: String = (1..=200).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    let sent = folder
        .feed(&["send", "--to", "api", "--lines", "-"], lines.as_bytes())
        .done();
    let served = folder
        .run(&["serve", "--until-empty", "--for", "2m", "--json"])
        .done();
    let events = served.json();
    assert_eq!(events[0]["event"], "started");
    assert!(
        !served.out.contains("retry_attempt"),
        "nobody asked for each attempt"
    );
    assert_eq!(events[0]["destinations"], serde_json::json!(["api"]));
    let end = events.last().unwrap();
    assert_eq!(
        (&end["event"], &end["clean"], &end["delivered"]),
        (&"stopped".into(), &true.into(), &200.into())
    );
    let status = folder.status();
    assert_eq!(
        (&status["sent"], &status["dead"], &status["due_now"]),
        (&200.into(), &0.into(), &0.into())
    );
    let stats = lab.server.stats();
    assert!(stats.requests > 200, "{}", stats.requests);
    let told: BTreeSet<&str> = sent.out.lines().collect();
    let seen: BTreeSet<&str> = stats.idempotency_keys.keys().map(String::as_str).collect();
    assert_eq!(told, seen, "the id is the same on every attempt");

    let retried = folder
        .run(&["list", "--attempts-from", "2", "--limit", "1", "--json"])
        .done()
        .json()
        .remove(0);
    let shown = folder.show(retried["id"].as_str().unwrap());
    let attempts = shown["failed_attempts"].as_array().unwrap();
    assert_eq!(attempts.len() as u64 + 1, shown["attempts"].as_u64().unwrap());
    assert_eq!(attempts[0]["class"], "throttled");
    assert!(attempts[0]["error"].as_str().unwrap().contains("503"), "{shown}");
}

#[test]
fn what_fails_is_told() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/404");
    folder.run(&["send", "--to", "api", "--payload", "1"]).done();
    let told = folder.serve().err;
    assert!(told.contains(" api: quarantined as permanent: 404 "), "{told}");
    lab.configure(&folder, "/flaky/1?retry_after=0");
    folder.run(&["send", "--to", "api", "--payload", "2"]).done();
    let told = folder
        .run(&["serve", "--until-empty", "--for", "2m", "-v"])
        .done()
        .err;
    assert!(told.contains(" api: attempt 1 of 20 failed: 503 "), "{told}");
    folder.run(&["dead", "redrive", "1"]).done();
    lab.configure(&folder, "/flaky/1?retry_after=0&key=2");
    let served = folder
        .run(&["serve", "--until-empty", "--for", "2m", "-v", "--json"])
        .done();
    let ended = served.json().pop().unwrap();
    assert_eq!((&ended["delivered"], &ended["dead"]), (&1.into(), &0.into()));
}

#[test]
fn a_message_that_waits_is_not_delivered_early() {
    let folder = Folder::new();
    folder
        .run(&["send", "--to", "log", "--payload", "1", "--delay", "1h"])
        .done();
    let ran = folder.run(&["serve", "--until-empty", "--for", "300ms"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(9), ""), "{}", ran.err);
    assert_eq!(folder.status()["waiting"], 1);
    assert!(
        folder
            .run(&["why", "1"])
            .done()
            .out
            .contains("has not been attempted; attempt 1 is due in ")
    );
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    folder
        .command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn terminate(child: &Child) {
    let ran = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(ran.unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_relay_stops_when_it_is_told_to() {
    let folder = Folder::new();
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let mut child = start(&folder, &["serve", "--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let message = lines.find(|line| line.contains("\"message\"")).unwrap();
    assert!(message.contains("\"payload\":\"1\""), "{message}");
    terminate(&child);
    let end: serde_json::Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!((&end["event"], &end["clean"]), (&"stopped".into(), &true.into()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.status()["workers"], serde_json::json!([]));
}

#[cfg(unix)]
#[test]
fn a_relay_waits_for_the_tables_and_goes_on_by_itself() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    folder.run(&["migrate", "--down", "--yes"]).done();
    let mut child = start(&folder, &["serve"]);
    let mut told = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let waits = told
        .find(|line| line.contains("the relay waits until then"))
        .unwrap();
    assert!(waits.contains("redeliver migrate"), "{waits}");
    folder.run(&["migrate"]).done();
    folder
        .run(&["send", "--to", "log", "--payload", "at last"])
        .done();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(shown.next().unwrap().unwrap().ends_with("at last"));
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_was_not_shown_is_still_to_be_delivered() {
    let folder = Folder::new();
    let lines: String = (1..=3_000).map(|number| format!("{number}\n")).collect();
    folder
        .feed(&["send", "--to", "log", "--lines", "-"], lines.as_bytes())
        .done();
    let mut serve = folder
        .command(&["serve", "--until-empty"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(serve.stdout.take().unwrap());
    shown.read_line(&mut String::new()).unwrap();
    drop(shown);
    let ended = serve.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("what was not shown is still to be delivered"),
        "{said}"
    );
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let before = folder.status()["sent"].clone();
    let ended = folder
        .command(&["serve", "--until-empty"])
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(ended.code(), Some(1));
    let status = folder.status();
    assert_eq!(status["sent"], before, "nothing could be shown");
    assert!(before.as_u64().unwrap() < 3_000, "{before}");
    assert_eq!(status["dead"], 0);
}
