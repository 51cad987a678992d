use std::net::TcpListener;

use rusqlite::Connection;
use serde_json::Value;

use crate::{bench::Folder, listening::Listening};

/// The findings of a check, and its exit code.
fn check(folder: &Folder, options: &[&str]) -> (Vec<Value>, Option<i32>) {
    let ran = folder.run(&[&["check", "--json"], options].concat());
    assert!(
        !ran.out.contains("hunter2") && !ran.out.contains("whsec_"),
        "{}",
        ran.out
    );
    (ran.json(), ran.code)
}

/// What was found there on this topic.
#[track_caller]
fn on<'f>(findings: &'f [Value], place: &str, topic: &str) -> &'f Value {
    let mut found = findings.iter();
    found
        .find(|finding| finding["place"] == place && finding["topic"] == topic)
        .unwrap()
}

#[test]
fn what_is_well_is_found_so_and_sent_nothing_unless_asked() {
    let folder = Folder::new();
    let mut listening = Listening::start(&folder, &[]);
    listening.configure(&folder, "[destinations.log]\ntype = \"log\"\n");
    folder.run(&["migrate"]).done();
    let (findings, code) = check(&folder, &[]);
    assert_eq!(code, Some(0), "{findings:#?}");
    assert!(
        findings.iter().all(|finding| finding["grade"] == "good"),
        "{findings:#?}"
    );
    let what = on(&findings, "api", "connection")["what"].as_str().unwrap();
    assert!(what.contains(&listening.address), "{what}");
    assert_eq!(
        on(&findings, "api", "signatures")["what"],
        "1 secret to sign with: v1"
    );
    assert_eq!(
        on(&findings, "log", "type")["what"],
        "nothing to look at: its type is log"
    );

    let (findings, code) = check(&folder, &["--send", "--destination", "api"]);
    assert_eq!(code, Some(0), "{findings:#?}");
    let sent = on(&findings, "api", "message")["what"].as_str().unwrap();
    let told = listening.next();
    assert!(
        sent.starts_with(told["id"].as_str().unwrap()),
        "the first that came: {told}"
    );
    assert!(
        told["body"].as_str().unwrap().contains(r#""test":true"#),
        "{told}"
    );
    assert!(!findings.iter().any(|finding| finding["place"] == "log"));
}

#[test]
fn each_problem_is_told_with_its_next_step() {
    let folder = Folder::new();
    let listening = Listening::start(&folder, &[]);
    let more =
        "[destinations.secure]\ntype = \"http\"\nallow_private = true\nurl = \"https://ADDRESS/hunter2\"\n";
    listening.configure(&folder, &more.replace("ADDRESS", &listening.address));
    let (findings, code) = check(&folder, &[]);
    assert_eq!(code, Some(1));
    let database = on(&findings, "database", "connection");
    assert_eq!(database["what"], "there is no database redeliver.db");
    assert!(database["next"].as_str().unwrap().contains("redeliver migrate"));
    let secure = on(&findings, "secure", "connection");
    assert!(
        secure["what"].as_str().unwrap().contains("does not speak TLS"),
        "{secure}"
    );
    assert_eq!(on(&findings, "api", "connection")["grade"], "good");
    for finding in &findings {
        let (good, next) = (finding["grade"] == "good", finding["next"] == "");
        assert_eq!(good, next, "{finding}");
    }
    let text = folder.run(&["check"]);
    assert_eq!(text.code, Some(1));
    assert!(
        text.out.contains("\nNext steps:\ndatabase, connection: "),
        "{}",
        text.out
    );
    let unknown = folder.run(&["check", "--destination", "nowhere"]);
    assert_eq!(unknown.code, Some(3));
    assert!(
        unknown.err.contains("the configuration has api, secure"),
        "{unknown:?}"
    );
}

#[test]
fn a_test_message_ends_as_the_destination_answers() {
    for (options, code, outcome, status) in [
        (&[][..], 0, "delivered", Value::from(200)),
        (&["--status", "503"], 1, "retry", 503.into()),
        (&["--reject"], 10, "rejected", 422.into()),
        (&["--status", "410"], 10, "disabled", 410.into()),
        (&["--hang"], 14, "ambiguous", Value::Null),
    ] {
        let folder = Folder::new();
        let mut listening = Listening::start(&folder, options);
        listening.configure(&folder, "timeout = \"500ms\"");
        let arguments = ["destination", "test", "api", "--json", "--header", "x-test: 1"];
        let ran = folder.run(&arguments);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let told = ran.json().remove(0);
        assert_eq!(
            (&told["outcome"], &told["status"]),
            (&outcome.into(), &status),
            "{told}"
        );
        let came = listening.next();
        assert_eq!(
            (&came["id"], &came["headers"]["x-test"]),
            (&told["id"], &"1".into())
        );
        assert!(!folder.0.join("redeliver.db").exists(), "nothing is written");
        let text = folder.run(&["destination", "test", "api", "--payload", "[7]"]);
        assert_eq!(text.code, Some(code));
        assert_eq!(listening.next()["body"], "[7]");
        assert!(text.out.contains("\n  took     "), "{}", text.out);
    }
}

#[test]
fn a_test_message_that_no_relay_would_send_is_not_sent() {
    let folder = Folder::new();
    let listening = Listening::start(&folder, &["--count", "1"]);
    listening.configure(&folder, "payload_limit = 10\n");
    for (arguments, code, words) in [
        (
            &["api", "--payload", "{oops"][..],
            2,
            "would not send this (invalid_payload)",
        ),
        (&["api", "--payload", "[1,2,3,4,5,6]"], 2, "too_large"),
        (&["api", "--header", "host: x"], 2, "set by the connection"),
        (&["api", "--file", "nowhere.json"], 2, "nowhere.json"),
        (
            &["nowhere"],
            3,
            "no destination is called \"nowhere\"; the configuration has api",
        ),
    ] {
        let ran = folder.run(&[&["destination", "test"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    folder.write("small.json", "[1]");
    folder
        .run(&["destination", "test", "api", "--file", "small.json"])
        .done();
    let (summary, _) = listening.ended();
    assert_eq!(summary["requests"], 1, "the others never came");
}

#[test]
fn a_database_that_cannot_be_used_is_told_without_its_password() {
    let folder = Folder::new();
    // Nobody listens at the port that was just given back.
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for scheme in ["postgres", "mysql"] {
        let address = format!("{scheme}://me:hunter2@127.0.0.1:{port}/app");
        let (findings, code) = check(&folder, &["--database", &address]);
        assert_eq!(code, Some(1));
        let found = on(&findings, "database", "connection");
        assert_eq!(found["grade"], "problem", "{found}");
        assert_ne!(found["next"], "", "{found}");
    }
    Connection::open(folder.0.join("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE orders (id INTEGER)")
        .unwrap();
    let (findings, code) = check(&folder, &["--database", "sqlite://other.db"]);
    assert_eq!(code, Some(1));
    let found = on(&findings, "database", "tables");
    assert_eq!(found["next"], "run `redeliver migrate`", "{found}");
}
