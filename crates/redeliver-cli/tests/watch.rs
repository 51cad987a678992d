//! `redeliver watch` as a person runs it: the real binary against the real fault server.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use serde_json::Value;

fn watch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
    command
        .arg("watch")
        .args(arguments)
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// Runs to the end, beside the server.
async fn run(arguments: &[&str]) -> Output {
    let mut command = watch(arguments);
    tokio::task::spawn_blocking(move || command.output().expect("the binary runs"))
        .await
        .expect("the binary ends")
}

fn server() -> FaultyServer {
    Faulty::start(FaultyConfig::default()).expect("a free port")
}

fn socket(server: &FaultyServer, target: &str) -> String {
    format!("ws://{}{target}", server.local_addr())
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn told(bytes: &[u8]) -> Vec<Value> {
    let parse = |line: &String| serde_json::from_str(line).expect("a line of JSON");
    lines(bytes).iter().map(parse).collect()
}

fn ids(output: &Output) -> Vec<u64> {
    let id = |item: &Value| item["id"].as_u64().expect("an id");
    told(&output.stdout).iter().map(id).collect()
}

const FAST: [&str; 4] = ["--base", "1ms", "--max", "5ms"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_drops_repeat_and_lose_nothing() {
    let server = server();
    let target = "?every=0&until=9000&drop_after=8&refuse=3";
    let urls = [
        socket(&server, &format!("/ws{target}")),
        format!("{}/sse{target}", server.base_url()),
    ];
    for url in &urls {
        let output = run(&[&[url.as_str()], &FAST[..]].concat()).await;
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(ids(&output), (1..=9000).collect::<Vec<_>>());
        let told = lines(&output.stderr);
        let gaps = told.iter().filter(|line| line.contains("  lost after ")).count();
        assert!(gaps >= 1_000, "{gaps} gaps");
        let summary = told.last().unwrap();
        assert!(summary.contains(&format!("; {gaps} gaps, ")), "{summary}");
        assert!(summary.ends_with("; 0 repeated, 0 lost"), "{summary}");
    }
}

#[tokio::test]
async fn an_address_that_is_refused_is_shown_without_its_password() {
    for url in [
        "user:hunter2@127.0.0.1/ws",
        "hunter2@127.0.0.1",
        "ftp://hunter2@127.0.0.1/",
        "ws://user:hunter2/hunter2@127.0.0.1:1/x",
        "http://user:hunter2?hunter2@127.0.0.1:1/x",
    ] {
        let output = run(&[url]).await;
        let told = lines(&output.stderr);
        assert_eq!(
            (output.status.code(), told.len()),
            (Some(2), 1),
            "{url}: {told:?}"
        );
        assert!(
            told[0].contains("127.0.0.1") && !told[0].contains("hunter2"),
            "{told:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_that_the_server_does_not_know_is_seen_in_the_figures() {
    let server = server();
    let url = socket(&server, "/ws?every=0&drop=clean&drop_after=5");
    // The last id becomes the log's end: whatever a second connection gives has come before.
    let arguments = [url.as_str(), "--resume", "id=until", "--json"];
    let output = run(&[&arguments, &FAST[..]].concat()).await;
    assert_eq!(output.status.code(), Some(0));
    let summary = told(&output.stdout).pop().unwrap()["summary"].clone();
    let items = summary["items"].as_u64().unwrap();
    assert!(summary["repeated"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(summary["lost"], 0, "{summary}");
    assert!(items > summary["repeated"].as_u64().unwrap(), "{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_tells_items_gaps_and_the_summary() {
    let server = server();
    let target = "/sse?every=0&drop=silent&drop_after=1&until=2&retry=3";
    let url = format!("{}{target}", server.base_url());
    let output = run(&[&url, "--json", "--jitter", "none"]).await;
    let told = told(&output.stdout);
    let kinds: Vec<_> = told
        .iter()
        .filter_map(|line| {
            ["connected", "item", "gap", "summary"]
                .into_iter()
                .find(|kind| line.get(kind).is_some())
        })
        .collect();
    let once = ["connected", "item", "gap"];
    assert_eq!(kinds, [&once[..], &once[..], &["connected", "summary"]].concat());
    assert_eq!((&told[1]["item"]["id"], &told[1]["id"]), (&1.into(), &"1".into()));
    let gap = &told[2]["gap"];
    assert_eq!(
        (&gap["resume_after"], &gap["wait_ms"], &gap["items"]),
        (&"1".into(), &3.into(), &1.into())
    );
    let summary = &told[7]["summary"];
    for (figure, expected) in [
        ("items", 2),
        ("connections", 3),
        ("gaps", 2),
        ("repeated", 0),
        ("lost", 0),
    ] {
        assert_eq!(summary[figure], expected, "{figure}");
    }
    assert_eq!(summary["end"], "done");
    assert!(output.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_end_it_and_quiet_prints_items_alone() {
    let server = server();
    let url = socket(&server, "/ws?drop_after=0");
    let output = run(&[&url, "--max-items", "5", "--quiet"]).await;
    assert_eq!(
        (output.status.code(), ids(&output)),
        (Some(0), vec![1, 2, 3, 4, 5])
    );
    assert!(output.stderr.is_empty());
    let output = run(&[&url, "--for", "200ms"]).await;
    assert_eq!(output.status.code(), Some(0));
    let summary = lines(&output.stderr).pop().unwrap();
    assert!(summary.contains("1 connection; 0 gaps"), "{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_gives_up_says_why_with_a_number_of_its_own() {
    let server = server();
    let address = server.local_addr();
    for (url, options, code, words) in [
        (format!("ws://{address}/status/401"), "", 10, "status 401"),
        (format!("http://{address}/"), "", 10, "not text/event-stream"),
        (
            format!("ws://{address}/status/500"),
            "--max-attempts 3",
            11,
            "3 attempts",
        ),
        (
            format!("ws://{address}/status/500"),
            "--deadline 3ms",
            12,
            "deadline",
        ),
        (
            format!("ws://{address}/ws?refuse=100&retry_after=999"),
            "",
            13,
            "longer wait",
        ),
        (
            format!("ws://{address}/hang"),
            "--max-attempts 2 --attempt-timeout 50ms",
            11,
            "timed out",
        ),
        (
            format!("http://{address}/hang"),
            "--max-attempts 2 --attempt-timeout 50ms",
            11,
            "timed out",
        ),
        (
            format!("ws://{address}/ws?every=1h&drop_after=0"),
            "--idle-timeout 1ns --max-attempts 1",
            11,
            "nothing came",
        ),
        (
            format!("http://{address}/sse?every=1h&drop_after=0"),
            "--idle-timeout 30ms --max-attempts 1",
            11,
            "nothing came",
        ),
        (
            format!("https://{address}/sse"),
            "--max-attempts 3",
            10,
            "permanent",
        ),
        (format!("wss://{address}/ws"), "--max-attempts 3", 10, "permanent"),
    ] {
        let options: Vec<&str> = options.split_whitespace().collect();
        let output = run(&[&[url.as_str()], &FAST[..], &options].concat()).await;
        let told = lines(&output.stderr);
        let error = told.last().unwrap();
        assert_eq!(output.status.code(), Some(code), "{url}: {error}");
        assert!(
            error.starts_with("error: ") && error.contains(words),
            "{url}: {error}"
        );
    }
}

#[tokio::test]
async fn bad_input_is_one_line_that_says_what_is_allowed() {
    for (arguments, words) in [
        (vec!["nonsense"], "ws://, wss://, http:// or https://"),
        (vec![""], "ws://, wss://, http:// or https://"),
        (vec!["ftp://example.com"], "ws://, wss://, http:// or https://"),
        (vec!["ws://"], "such as wss://"),
        (vec!["ws://user:secret@example.com/"], "Authorization header"),
        (vec!["http://"], "such as https://"),
        (vec!["ws://h/", "--resume", "id"], "id=after"),
        (vec!["http://h/", "--resume", "id=after"], "Last-Event-ID"),
        (
            vec!["ws://h/", "-H", "Bearer secret"],
            "name, a colon and a value",
        ),
        (
            vec!["ws://h/", "-H", "a b: secret"],
            "letters, digits and hyphens",
        ),
        (vec!["http://h/", "-H", "a: sec\u{1}ret"], "visible ASCII"),
        (vec!["ws://h/", "--max-items", "0"], "whole number from 1"),
        (vec!["ws://h/", "--for", "soon"], "200ms"),
        (vec!["ws://h/", "--for", "-1s"], "--for"),
        (vec!["ws://h/", "--idle-timeout", "0s"], "longer than 0s"),
        (vec!["ws://h/", "--preset", "heroic"], "reconnect"),
        (vec!["ws://h/", "--base", "1s", "--max", "1ms"], "max"),
        (vec![], "URL"),
    ] {
        let output = run(&arguments).await;
        let told = lines(&output.stderr);
        assert_eq!(
            (output.status.code(), told.len()),
            (Some(2), 1),
            "{arguments:?}: {told:?}"
        );
        assert!(told[0].contains(words), "{arguments:?}: {told:?}");
        assert!(!told[0].contains("secret"), "{told:?}");
        assert!(output.stdout.is_empty());
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_it_with_the_summary() {
    let server = server();
    let url = socket(&server, "/ws?drop_after=0");
    let interrupted = tokio::task::spawn_blocking(move || {
        let mut command = watch(&[&url]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        child.wait_with_output().unwrap()
    });
    let output = interrupted.await.unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told = lines(&output.stderr);
    assert!(
        told.iter().any(|line| line.ends_with("0 repeated, 0 lost")),
        "{told:?}"
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_goes_away_ends_it() {
    let server = server();
    let url = socket(&server, "/ws?every=1ms&drop_after=0");
    let left = tokio::task::spawn_blocking(move || {
        let mut child = watch(&[&url])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        drop(stdout);
        child.wait().unwrap()
    });
    assert_eq!(left.await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn help_shows_how_to_try_it() {
    let output = run(&["--help"]).await;
    let help = String::from_utf8(output.stdout).unwrap();
    insta::with_settings!({ filters => vec![(r"\x1b\[[0-9;]*m", "")] }, {
        insta::assert_snapshot!("watch_help", help);
    });
}
