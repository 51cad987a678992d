//! `redeliver call` as a user runs it, against the fault server.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::PathBuf,
    process::{self, Command, Stdio},
    thread,
    time::Duration,
};

use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use serde_json::Value;
use tokio::runtime::Runtime;

/// What the command printed, and how it ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
    command.arg("call").args(arguments).env_remove("COLUMNS");
    command
}

fn call(arguments: &[&str]) -> Ran {
    ended(command(arguments).output().unwrap())
}

fn ended(output: process::Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn as_json(arguments: &[&str]) -> (Value, Option<i32>) {
    let ran = call(&[arguments, &["--json", "--quiet"]].concat());
    assert_eq!(ran.out.lines().count(), 1, "{}{}", ran.out, ran.err);
    (serde_json::from_str(&ran.out).unwrap(), ran.code)
}

/// The fault server on a runtime of its own, while the test waits for processes.
struct Lab {
    server: FaultyServer,
    runtime: Runtime,
}

impl Lab {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let config = FaultyConfig {
            max_delay: Duration::ZERO,
            ..FaultyConfig::default()
        };
        let server = {
            let _entered = runtime.enter();
            Faulty::start(config).unwrap()
        };
        Self { server, runtime }
    }

    fn url(&self, target: &str) -> String {
        format!("{}{target}", self.server.base_url())
    }

    fn requests(&self) -> u64 {
        self.server.stats().requests
    }
}

const QUICK: [&str; 6] = ["--base", "1ms", "--jitter", "none", "--max-attempts", "3"];

fn quick<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&QUICK, arguments].concat()
}

#[test]
fn help_lists_the_exit_codes() {
    let ran = call(&["--help"]);
    assert_eq!(ran.code, Some(0));
    insta::with_settings!({ filters => vec![(r"\x1b\[[0-9;]*m", "")] }, {
        insta::assert_snapshot!("help", ran.out);
    });
}

#[test]
fn the_body_comes_on_standard_output_and_each_attempt_on_standard_error() {
    let lab = Lab::start();
    let ran = call(&quick(&[&lab.url("/flaky/2?retry_after=0")]));
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.out, r#"{"failures_before":2,"ok":true}"#);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.err);
    for (line, (starts, ends)) in lines.iter().zip([
        (
            "attempt 1 of 3: 503 Service Unavailable after ",
            "; waits 1ms (exponential backoff, jitter none)",
        ),
        (
            "attempt 2 of 3: 503 Service Unavailable after ",
            "; waits 2ms (exponential backoff, jitter none)",
        ),
        ("attempt 3 of 3: 200 OK after ", "s"),
    ]) {
        assert!(line.starts_with(starts) && line.ends_with(ends), "{line}");
    }
}

#[test]
fn a_retry_after_is_told_as_the_reason_of_the_wait() {
    let lab = Lab::start();
    let target = lab.url("/flaky/1?retry_after=1");
    let ran = call(&quick(&["--deadline", "20s", &target]));
    assert_eq!(ran.code, Some(0));
    let first = ran.err.lines().next().unwrap();
    assert!(
        first.contains("waits 1s (Retry-After asks for 1s); 19s "),
        "{first}"
    );
    assert!(first.ends_with(" left"), "{first}");
    let ran = call(&quick(&[
        "--retry-after-max",
        "2s",
        &lab.url("/throttle?retry_after=3"),
    ]));
    assert_eq!(ran.code, Some(13));
    let told = " than allowed (Retry-After asks for 3s, --retry-after-max is 2s)\n";
    assert!(ran.err.ends_with(told), "{}", ran.err);
}

#[test]
fn every_end_has_its_exit_code() {
    let lab = Lab::start();
    for (code, reason, arguments) in [
        (10, "permanent", vec!["/status/404"]),
        (11, "attempts", vec!["/status/500"]),
        (12, "deadline", vec!["/hang", "--deadline", "100ms"]),
        (13, "retry_after", vec!["/throttle?retry_after=1000"]),
        (14, "unknown_outcome", vec!["/status/503", "-X", "POST"]),
        (10, "permanent", vec!["/huge", "--max-body", "1000"]),
    ] {
        let target = lab.url(arguments[0]);
        let (report, exit) = as_json(&quick(&[&[target.as_str()], &arguments[1..]].concat()));
        assert_eq!(
            (exit, &report["reason"]),
            (Some(code), &reason.into()),
            "{report}"
        );
        assert_eq!(report["ok"], false);
        let error = report["error"].as_str().unwrap();
        assert!(error.starts_with("gave up after "), "{error}");
    }
}

#[test]
fn json_tells_each_attempt() {
    let lab = Lab::start();
    let (report, exit) = as_json(&quick(&[&lab.url("/flaky/1?retry_after=1")]));
    assert_eq!(exit, Some(0));
    assert_eq!(
        (&report["ok"], &report["status"], &report["attempts"]),
        (&true.into(), &200.into(), &2.into())
    );
    assert_eq!(report["reason"], Value::Null);
    assert_eq!(report["body"], r#"{"failures_before":1,"ok":true}"#);
    let history = report["history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    let number = |at: usize, field: &str| history[at][field].as_f64().unwrap();
    assert_eq!((number(0, "status"), number(1, "status")), (503.0, 200.0));
    assert_eq!(
        (number(0, "retry_after_ms"), number(0, "wait_ms")),
        (1000.0, 1000.0)
    );
    let ended = number(0, "started_ms") + number(0, "duration_ms");
    // Less only by what the printed digits leave out.
    assert!(number(1, "started_ms") - ended >= 999.9, "{report}");
    assert!(report["elapsed_ms"].as_f64().unwrap() >= 1000.0);
}

/// Answers one request with bytes that are no text; its URL.
fn binary_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\n\xff\x00\xfe";
        stream.get_mut().write_all(answer).unwrap();
    });
    url
}

#[test]
fn a_body_that_is_no_text_comes_as_it_is_and_as_base64_in_json() {
    let raw = command(&quick(&[&binary_server()])).output().unwrap().stdout;
    assert_eq!(raw, b"\xff\x00\xfe");
    let (report, _) = as_json(&quick(&[&binary_server()]));
    assert_eq!(
        (report.get("body"), &report["body_base64"]),
        (None, &"/wD+".into())
    );
}

fn scratch(name: &str) -> PathBuf {
    env::temp_dir().join(format!("redeliver-call-{}-{name}", process::id()))
}

#[test]
fn data_comes_from_a_file_or_standard_input() {
    let lab = Lab::start();
    let target = lab.url("/echo");
    let file = scratch("data");
    fs::write(&file, r#"{"from":"file"}"#).unwrap();
    let at_file = format!("@{}", file.display());
    let (report, _) = as_json(&["-d", &at_file, "-H", "X-Trace: 7", &target]);
    fs::remove_file(&file).unwrap();
    let echoed: Value = serde_json::from_str(report["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&echoed["method"], &echoed["body"]),
        (&"POST".into(), &r#"{"from":"file"}"#.into())
    );
    assert_eq!(echoed["headers"]["content-type"], "application/json");
    assert_eq!(echoed["headers"]["x-trace"], "7");

    let mut child = command(&["-q", "-X", "put", "-d", "-", &target])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
    let echoed: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(
        (&echoed["method"], &echoed["body"]),
        (&"PUT".into(), &"from a pipe".into())
    );
    assert_eq!(echoed["headers"].get("content-type"), None);
}

#[test]
fn the_answer_goes_to_a_file_and_its_head_is_shown_if_asked() {
    let lab = Lab::start();
    let file = scratch("answer");
    let ran = call(&["-q", "-i", "-o", file.to_str().unwrap(), &lab.url("/ok")]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(
        ran.out.starts_with("200 OK\ncontent-type: application/json\n"),
        "{}",
        ran.out
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"ok":true}"#);
    fs::remove_file(&file).unwrap();
    let before = lab.requests();
    for nowhere in ["/nowhere/at/all", "/"] {
        let ran = call(&["-q", "-o", nowhere, &lab.url("/ok")]);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(2), 1));
        assert!(ran.err.contains(nowhere), "{}", ran.err);
    }
    assert_eq!(
        lab.requests(),
        before,
        "nothing is sent whose answer would be lost"
    );
}

#[test]
fn a_post_is_sent_once_unless_it_is_said_to_be_idempotent() {
    let lab = Lab::start();
    let target = lab.url("/payment/authorize?fail_rate=0&lose=100");
    let ran = call(&quick(&["-X", "POST", "-d", "{}", &target]));
    assert_eq!(ran.code, Some(14), "{}", ran.err);
    assert_eq!(lab.requests(), 1);
    let ran = call(&quick(&["-X", "POST", "-d", "{}", "--idempotent", &target]));
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), r#"{"ok":true,"authorized":true}"#)
    );
    let stats = lab.server.stats();
    assert_eq!(stats.requests, 3);
    assert_eq!(stats.idempotency_keys.values().collect::<Vec<_>>(), [&2]);
    call(&quick(&["-X", "POST", "--idempotency-key", "order-9", &target]));
    assert_eq!(lab.server.stats().idempotency_keys["order-9"], 2);
}

#[test]
fn many_calls_keep_every_promise() {
    let lab = Lab::start();
    let target = lab.url("/payment/authorize?retry_after=1");
    let policy =
        "--base 200ms --max 2500ms --max-attempts 5 --attempt-timeout 1200ms --deadline 8s --jitter full";
    let policy: Vec<&str> = policy.split(' ').collect();
    let many = [
        "--count",
        "150",
        "--concurrency",
        "50",
        "-X",
        "POST",
        "--idempotent",
        &target,
    ];
    let (summary, _) = as_json(&[&policy[..], &many].concat());
    assert_eq!(summary["calls"], 150);
    let figure = |name: &str| summary[name].as_u64().unwrap();
    // Five attempts of which four in ten fail: one call in a hundred is not got through.
    assert!(figure("succeeded") >= 140, "{summary}");
    assert!(figure("retry_after_waits") >= 50, "{summary}");
    assert_eq!(figure("waits_shorter_than_asked"), 0, "{summary}");
    assert_eq!(figure("requests"), lab.requests());
    let keys = lab.server.stats().idempotency_keys;
    assert_eq!(keys.len(), 150);
    assert!(keys.values().all(|sent| *sent <= 5));
}

#[test]
fn calls_that_share_what_they_are_told_wait_for_each_other() {
    let lab = Lab::start();
    let target = lab.url("/throttle?retry_after=1");
    let arguments = [
        "--count",
        "3",
        "--max-attempts",
        "1",
        "--deadline",
        "500ms",
        &target,
    ];
    let (alone, _) = as_json(&arguments);
    assert_eq!(
        (&alone["requests"], &alone["failed"]["attempts"]),
        (&3.into(), &3.into())
    );
    let (shared, _) = as_json(&[&arguments[..], &["--share-retry-after"]].concat());
    assert_eq!(
        (&shared["requests"], &shared["failed"]["deadline"]),
        (&1.into(), &2.into())
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_call_with_130() {
    let lab = Lab::start();
    let mut records = lab.server.records();
    let target = lab.url("/hang");
    let child = command(&["--json", &target])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A hang is told when it begins.
    let hanging = lab.runtime.block_on(records.recv()).unwrap();
    assert_eq!(hanging.path, "/hang");
    let told = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(told.unwrap().success());
    let ran = ended(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130));
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&report["reason"], &report["attempts"]),
        (&"cancelled".into(), &1.into())
    );
    assert!(ran.err.starts_with("cancelled after "), "{}", ran.err);
}

#[test]
fn nonsense_is_refused_in_one_line_without_secrets() {
    let long = "x".repeat(100_000);
    let url = "http://localhost";
    for (arguments, words) in [
        (vec!["localhost:3000"], "must start with http:// or https://"),
        (vec!["ftp://localhost"], "must start with http:// or https://"),
        (vec!["http://user:hunter2@localhost/"], "user or a password"),
        (vec!["http://localhost:99999/?key=hunter2"], "invalid port"),
        (vec!["http://"], "empty host"),
        (vec![""], "must start with"),
        (vec![&long], "must start with"),
        (vec!["-H", "Authorization hunter2", url], "has no colon"),
        (
            vec!["-H", "X-Key: hunter2\nX-Other: 1", url],
            "\"x-key\": the value",
        ),
        (vec!["-H", ": hunter2", url], "the name must be"),
        (vec!["-H", "a b: hunter2", url], "the name must be"),
        (vec!["-X", "GE T", url], "must be up to 32 letters"),
        (vec!["-X", "", url], "must be up to 32 letters"),
        (vec!["-d", "@no/such/file", url], "data \"@no/such/file\""),
        (vec!["-d", "@/", url], "data \"@/\""),
        (vec!["--deadline", "soon", url], "--deadline"),
        (vec!["--jitter", "some", url], "--jitter"),
        (vec!["--max-body", "-1", url], "--max-body"),
        (vec!["--count", "-1", url], "--count"),
        (vec!["--connect-timeout", "-1s", url], "--connect-timeout"),
        (vec!["--connect-timeout", "0s", url], "longer than 0s"),
        (vec!["--idempotency-key", "", url], "must not be empty"),
        (vec!["--max-body", "many", url], "--max-body"),
        (vec!["--count", "0", url], "--count"),
        (
            vec!["--count", "2", "--concurrency", "1001", url],
            "--concurrency",
        ),
        (vec!["--concurrency", "2", url], "--count"),
        (vec!["--idempotency-key", "hunter2\n", url], "idempotency-key"),
        (vec![], "<URL>"),
    ] {
        let ran = call(&arguments);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(2), ""),
            "{words}: {}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{words}: {}", ran.err);
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
        assert!(!ran.err.contains("hunter2"), "{words}: {}", ran.err);
        assert!(ran.err.len() < 500, "{words}: {} bytes", ran.err.len());
    }
}
