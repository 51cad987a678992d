use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    bench::Folder,
    listening::{Listening, SECRET},
};

#[test]
fn a_signed_message_is_checked_failed_twice_and_taken() {
    let folder = Folder::new();
    let options = [
        "--secret",
        "env:WEBHOOK_SECRET",
        "--fail-first",
        "2",
        "--count",
        "3",
    ];
    let mut listening = Listening::start(&folder, &options);
    listening.configure(&folder, "");
    let sent = folder
        .run(&["send", "--to", "api", "--payload", r#"{"order":7}"#])
        .done();
    folder.serve();
    let told: Vec<Value> = (0..3).map(|_| listening.next()).collect();
    let (summary, code) = listening.ended();
    for (place, request) in (1..).zip(&told) {
        assert_eq!(request["id"], sent.out.trim(), "{request}");
        assert_eq!(request["attempt"], place, "{request}");
        assert_eq!(request["delivery"], place, "{request}");
        assert_eq!(request["signature"], "valid", "{request}");
        assert_eq!(
            request["duplicate"], false,
            "what failed is no duplicate: {request}"
        );
        assert_eq!(request["body"], r#"{"order":7}"#, "{request}");
        assert_eq!(request["path"], "/hooks/hunter2", "{request}");
    }
    let results: Vec<&Value> = told.iter().map(|request| &request["status"]).collect();
    assert_eq!(results, [503, 503, 200]);
    assert_eq!(
        (
            code,
            &summary["requests"],
            &summary["ids"],
            &summary["valid_signatures"]
        ),
        (Some(0), &3.into(), &1.into(), &3.into()),
        "{summary}"
    );
    assert_eq!(folder.status()["sent"], 1);
}

#[test]
fn what_another_secret_signed_is_reported_and_refused() {
    let folder = Folder::new();
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let mut listening = Listening::start(&folder, &["--secret", other, "--count", "1"]);
    listening.configure(&folder, "");
    folder.run(&["send", "--to", "api", "--payload", "1"]).done();
    folder.serve();
    let request = listening.next();
    assert_eq!(
        (&request["signature"], &request["status"], &request["result"]),
        (&"wrong".into(), &401.into(), &"unbelieved".into())
    );
    let (summary, code) = listening.ended();
    assert_eq!((code, &summary["unbelieved"]), (Some(1), &1.into()));
    let dead = folder.run(&["dead", "list"]).done().out;
    assert!(dead.contains("401 Unauthorized"), "{dead}");
}

#[test]
fn work_whose_answer_was_lost_is_not_done_again() {
    let folder = Folder::new();
    let options = [
        "--inbox",
        "consumer.db",
        "--hang",
        "--fail-first",
        "1",
        "--count",
        "2",
    ];
    let mut listening = Listening::start(&folder, &options);
    listening.configure(&folder, "timeout = \"200ms\"");
    folder.run(&["send", "--to", "api", "--payload", "[1]"]).done();
    folder.serve();
    let (first, second) = (listening.next(), listening.next());
    assert_eq!(
        (&first["status"], &first["duplicate"]),
        (&Value::Null, &false.into())
    );
    assert_eq!(
        (&second["result"], &second["status"], &second["duplicate"]),
        (&"skipped".into(), &200.into(), &true.into())
    );
    let (summary, code) = listening.ended();
    assert_eq!((code, &summary["skipped"]), (Some(0), &1.into()));
    let database = Connection::open(folder.0.join("consumer.db")).unwrap();
    let work = |sql: &str| database.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        work("SELECT count(*) FROM redeliver_listen WHERE body = CAST('[1]' AS BLOB)"),
        1
    );
    assert_eq!(work("SELECT count(*) FROM redeliver_inbox"), 1);
}

#[test]
fn whatever_comes_is_answered_and_shown_harmlessly() {
    let folder = Folder::new();
    let mut listening = Listening::start(&folder, &["--secret", SECRET, "--shown", "5"]);
    let answer = listening.post("", "{}");
    assert!(
        answer.starts_with("HTTP/1.1 401 ") && answer.contains("no header webhook-id"),
        "{answer}"
    );
    assert_eq!(listening.next()["signature"], "missing");
    let old = "webhook-id: a\r\nwebhook-timestamp: 1614265330\r\nwebhook-signature: v1,AAAA\r\n";
    listening.post(old, "{}");
    assert_eq!(listening.next()["signature"], "too old");
    let large = listening.post("authorization: hunter2\r\n", &"x".repeat(3 << 20));
    assert!(large.is_empty() || large.starts_with("HTTP/1.1 413 "), "{large}");
    let told = listening.next();
    assert_eq!(
        (&told["status"], &told["result"]),
        (&413.into(), &"unread".into())
    );
    assert_eq!(told["headers"]["authorization"], "(7 bytes, not shown)");
    listening.post("", "\u{1b}[2Jabcdef");
    assert_eq!(listening.next()["body"], "\u{1b}[2Ja", "JSON escapes it");
}

/// During a rotation a receiver knows an old secret and the public half of the new key.
#[test]
fn the_public_half_of_a_key_is_enough_to_check() {
    let folder = Folder::new();
    folder.write("public", "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=\n");
    let options = [
        "--secret",
        "env:WEBHOOK_SECRET",
        "--secret",
        "file:public",
        "--count",
        "1",
    ];
    let mut listening = Listening::start(&folder, &options);
    let address = &listening.address;
    folder.write(
        "redeliver.toml",
        format!(
            "[destinations.api]\ntype = \"http\"\nurl = \"http://{address}/\"\nallow_private = true\n\
             webhook.secrets = \"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=\"\n"
        ),
    );
    folder.run(&["destination", "test", "api"]).done();
    assert_eq!(listening.next()["signature"], "valid");
    assert_eq!(listening.ended().1, Some(0));
}

/// What a person reads, from the first line to the summary.
#[test]
fn requests_are_told_in_words() {
    let folder = Folder::new();
    let mut command = folder.command(&[
        "listen", "--port", "0", "--secret", SECRET, "--count", "2", "--for", "2m",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on http://").unwrap();
    let url = format!("http://{address}/hook");
    folder.write(
        "redeliver.toml",
        format!(
            "[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\nwebhook.secrets = \"{SECRET}\"\n\
             [destinations.bare]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n"
        ),
    );
    let payload = r#"{"total": 12345678901234567890.10,"note":"\u001b[2J"}"#;
    let trial = |to: &str| folder.run(&["destination", "test", to, "--payload", payload]);
    assert!(
        trial("api")
            .done()
            .out
            .contains("answer   200 over HTTP/1.1: {\"ok\":true}")
    );
    let refused = trial("bare");
    assert_eq!(refused.code, Some(10), "{refused:?}");
    let told: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "one was not signed");
    let told = told.join("\n");
    for words in [
        "Z  POST /hook\n  id ",
        ", attempt 1, signature valid\n",
        "\n  user-agent: redeliver/",
        "\n  {\n    \"total\": 12345678901234567890.10,\n    \"note\": \"\\u001b[2J\"\n  }\n  → 200  taken\n",
        ", attempt 1, signature MISSING: there is no header webhook-id\n",
        "\n  → 401  not believed\n",
        "\n2 requests with 2 ids: 1 taken, 0 failed on purpose, 0 duplicates, 1 with a valid signature, 1 not signed as they should be",
    ] {
        assert!(told.contains(words), "{words:?} is not in\n{told}");
    }
}

#[test]
fn the_same_id_again_is_shown_and_failures_are_as_asked_for() {
    let folder = Folder::new();
    let mut taking = Listening::start(&folder, &[]);
    for delivery in [1, 2] {
        assert!(
            taking
                .post("webhook-id: a\r\n", "{}")
                .starts_with("HTTP/1.1 200 ")
        );
        let told = taking.next();
        assert_eq!(
            (&told["delivery"], &told["duplicate"]),
            (&delivery.into(), &(delivery == 2).into())
        );
    }
    for (options, words) in [
        (
            &["--status", "429", "--retry-after", "1500ms"][..],
            "retry-after: 2\r\n",
        ),
        (&["--reject"], "HTTP/1.1 422 "),
        (&["--fail", "100%", "--delay", "5ms"], "HTTP/1.1 503 "),
        (&["--fail", "0"], "HTTP/1.1 200 "),
    ] {
        let answer = Listening::start(&folder, options).post("", "{}");
        assert!(answer.contains(words), "{options:?}: {answer}");
    }
}

#[test]
fn what_makes_no_sense_is_told_without_secrets() {
    let folder = Folder::new();
    for (options, words) in [
        (
            &["--secret", "hunter2"][..],
            "--secret, the 1.: must begin with whsec_",
        ),
        (
            &["--secret", "env:NO_SUCH_VARIABLE"],
            "NO_SUCH_VARIABLE is not set",
        ),
        (&["--secret", "file:nowhere"], "nowhere cannot be read"),
        (&["--fail", "101%"], "0% to 100%"),
        (&["--status", "200"], "300..=599"),
        (&["--hang", "--reject"], "cannot be used with"),
        (&["--retry-after", "2h"], "0s to 1h"),
        (&["--bind", "here"], "invalid IP address"),
        (&["--count", "0"], "--count"),
        (&["--inbox", "no/such/folder/x.db"], "--inbox no/such/folder/x.db"),
    ] {
        let ran = folder.run(&[&["listen"], options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        assert!(ran.err.contains(words), "{options:?}: {}", ran.err);
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
}
