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
    signal(child, "-TERM");
}

fn signal(child: &Child, signal: &str) {
    let ran = Command::new("kill")
        .args([signal, &child.id().to_string()])
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
fn a_relay_without_tables_does_not_wait_for_them_when_it_stops() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[relay]\nshutdown = \"1h\"\n");
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let mut child = start(&folder, &["serve"]);
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    shown.next().unwrap().unwrap();
    folder.run(&["migrate", "--down", "--yes"]).done();
    let mut told = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    told.find(|line| line.contains("cannot renew the lease")).unwrap();
    terminate(&child);
    let last = told.last().unwrap();
    assert!(last.contains("waits for its lease to end"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(8));
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

#[cfg(unix)]
#[test]
fn a_terminal_that_goes_away_stops_a_relay_cleanly() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    let program = env!("CARGO_BIN_EXE_redeliver");
    // A terminal of its own, which ends with the program that holds its other end. Whoever runs this with nohup has nobody hear of that.
    let mut terminal = Command::new("env")
        .args([
            "--default-signal=HUP",
            "script",
            "-qefc",
            &format!("exec {program} serve --json --listen off"),
            "/dev/null",
        ])
        .current_dir(&folder.0)
        .env_remove("REDELIVER_DATABASE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines();
    lines
        .find(|line| line.as_ref().unwrap().contains("\"figures\""))
        .unwrap()
        .unwrap();
    assert_eq!(folder.status()["workers"].as_array().unwrap().len(), 1);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    // It has left, and so nobody waits for its lease.
    while folder.status()["workers"] != serde_json::json!([]) {}
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_a_relay_at_once() {
    let lab = Lab::start();
    for (first, second, code) in [("-TERM", "-TERM", 143), ("-TERM", "-INT", 130)] {
        let folder = Folder::new();
        lab.configure(&folder, "/hang");
        folder.run(&["send", "--to", "api", "--payload", "1"]).done();
        let mut child = start(&folder, &["serve", "--json"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        lines.find(|line| line.contains("\"in_flight\":1")).unwrap();
        signal(&child, first);
        lines.find(|line| line.contains("\"stopping\"")).unwrap();
        signal(&child, second);
        let last = lines.last().unwrap();
        assert!(last.contains("\"clean\":false"), "{last}");
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn the_time_is_counted_while_the_database_is_waited_for() {
    let folder = Folder::new();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for (arguments, code) in [
        (&["serve", "--for", "100ms"][..], 5),
        (&["serve", "--for", "100ms", "--until-empty"], 9),
    ] {
        for address in [
            "sqlite://redeliver.db",
            "postgres://me@127.0.0.1:1/x",
            "mysql://me@127.0.0.1:1/x",
        ] {
            let ran = folder.run(&[arguments, &["--database", address, "--listen", "off"]].concat());
            assert_eq!(ran.code, Some(code), "{ran:?}");
            assert!(ran.err.contains("the time that --for gives is over"), "{ran:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_configuration_that_never_comes_does_not_hold_a_signal_up() {
    use std::os::unix::{fs::OpenOptionsExt as _, process::ExitStatusExt as _};

    const NON_BLOCKING: i32 = 0o4000;
    let folder = Folder::new();
    let pipe = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = start(&folder, &["serve", "--config", "pipe"]);
    // It can be opened like this once somebody reads it.
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).custom_flags(NON_BLOCKING);
    let _writer = loop {
        if let Ok(writer) = options.open(&pipe) {
            break writer;
        }
        std::thread::yield_now();
    };
    terminate(&child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn a_database_in_memory_is_refused_where_messages_would_be_lost() {
    let folder = Folder::new();
    for command in [&["send", "--to", "log", "--payload", "1"][..], &["serve"]] {
        for address in ["sqlite::memory:", "sqlite://:memory:"] {
            let ran = folder.run(&[command, &["--database", address]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
            assert!(ran.err.contains("ends with this command"), "{ran:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn whose_lease_is_waited_for_is_told() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[relay]\nlease = \"1h\"\n");
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let mut first = start(&folder, &["serve", "--json"]);
    let mut lines = BufReader::new(first.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    lines.find(|line| line.contains("\"message\"")).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let long_ago =
        "UPDATE redeliver_workers SET started_at = started_at - 2400000, seen_at = seen_at - 2400000";
    assert_eq!(database.execute(long_ago, []).unwrap(), 1);
    let mut second = start(&folder, &["serve", "--json"]);
    let waits = BufReader::new(second.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .find(|line| line.contains("\"waiting\""))
        .unwrap();
    assert!(
        waits.contains("\"lease_ends_in_ms\":11"),
        "about 20 minutes: {waits}"
    );
    terminate(&second);
    assert_eq!(second.wait().unwrap().code(), Some(0));
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
