use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bench::{Folder, Lab};

/// An outbox with so many messages to a destination that nobody knows, all of them quarantined.
fn quarantined(count: usize) -> Folder {
    let folder = Folder::new();
    for number in 1..=count {
        let (payload, key) = (format!("{{\"n\":{number}}}"), format!("k{number}"));
        folder
            .run(&["send", "--to", "nowhere", "--key", &key, "--payload", &payload])
            .done();
    }
    folder.serve();
    assert_eq!(folder.status()["dead"], count);
    folder
}

#[test]
fn a_person_rescues_a_broken_payload() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/payment/authorize");
    let sent = folder
        .run(&["send", "--to", "api", "--payload", "{\"amount\":"])
        .done();
    assert!(sent.err.contains("no JSON"), "{}", sent.err);
    folder.serve();
    assert_eq!(lab.server.stats().requests, 0, "what is broken is not sent");
    let listed = folder
        .run(&["dead", "list", "--reason", "invalid_payload", "--json"])
        .done()
        .json();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["attempts"], listed[0].get("payload")),
        (&0.into(), None)
    );

    let refused = folder.run(&["dead", "edit", "1", "--payload", "{still"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    folder
        .run(&[
            "dead",
            "edit",
            "1",
            "--payload",
            "{\"amount\":5}",
            "--why",
            "it was cut",
            "--as",
            "bob",
        ])
        .done();
    let shown = folder
        .run(&["dead", "show", "1", "--json"])
        .done()
        .json()
        .remove(0);
    assert_eq!(
        (&shown["payload"], &shown["original"]["payload"]),
        (&"{\"amount\":5}".into(), &"{\"amount\":".into())
    );
    folder.run(&["dead", "redrive", "1"]).done();
    folder.serve();
    let shown = folder.show("1");
    assert_eq!(
        (&shown["status"], &shown["redrives"], &shown["payload"]),
        (&"sent".into(), &1.into(), &"{\"amount\":5}".into())
    );
    let acts = folder.run(&["audit", "--json"]).done().json();
    let told: Vec<_> = acts
        .iter()
        .map(|act| (&act["action"], &act["who"], &act["why"]))
        .collect();
    assert_eq!(told[0], (&json!("redrive"), &json!("alice"), &json!("")));
    assert_eq!(told[1], (&json!("edit"), &json!("bob"), &json!("it was cut")));
}

#[test]
fn many_are_patched_and_what_moved_meanwhile_is_named() {
    let folder = quarantined(4);
    let patch = ["dead", "patch", "--patch", r#"{"n":0}"#];
    let with = |more: &[&str]| folder.run(&[patch.as_slice(), more].concat());
    assert_eq!(with(&[]).code, Some(2), "which?");
    assert_eq!(
        folder.run(&["dead", "patch", "1", "--patch", "[1]"]).code,
        Some(2)
    );
    let shown = with(&["--to", "nowhere", "--limit", "3", "--preview", "--json"]).done();
    let shown = shown.json().remove(0);
    assert_eq!((&shown["matching"], &shown["chosen"]), (&4.into(), &3.into()));
    let seen = shown["seen"].as_str().unwrap();
    folder
        .run(&["dead", "edit", "1", "--payload", "{\"n\":7}", "--as", "bo"])
        .done();
    folder
        .run(&["dead", "discard", "2", "--reason", "a test", "--as", "eve"])
        .done();
    let late = with(&["--seen", seen, "--why", "a typo", "--json"]);
    assert_eq!(late.code, Some(3), "{}", late.err);
    assert!(
        late.err.contains("1 (bo did \"edit\"") && late.err.contains("2 (eve did"),
        "{}",
        late.err
    );
    let told: Value = serde_json::from_str(late.out.lines().next().unwrap()).unwrap();
    assert_eq!(told["edited"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(folder.show("3")["payload"], "{\"n\":0}");
    assert_eq!(folder.show("1")["payload"], "{\"n\":7}");
    let named = with(&["3", "4", "2", "--move-to", "elsewhere", "--yes"]);
    assert_eq!(named.code, Some(3), "{}", named.err);
    assert!(
        named.err.contains("− ") && named.err.contains("nowhere → elsewhere"),
        "{}",
        named.err
    );
    assert!(named.err.contains("no dead letter: 2"), "{}", named.err);
    assert_eq!(folder.show("4")["destination"], "elsewhere");
    let again = with(&["4", "--yes"]).done();
    assert!(
        again.err.contains("patched 0, 1 were so already"),
        "{}",
        again.err
    );
}

#[test]
fn what_failed_alike_is_one_issue() {
    let folder = quarantined(3);
    let issues = folder.run(&["dead", "issues", "--json"]).done().json();
    assert_eq!(issues.len(), 1);
    let (issue, count) = (&issues[0]["issue"], &issues[0]["count"]);
    assert_eq!(
        (count, &issues[0]["reason"]),
        (&3.into(), &"unknown_destination".into())
    );
    let issue = issue.as_str().unwrap();
    let listed = folder
        .run(&["dead", "list", "--issue", issue, "--json"])
        .done()
        .json();
    assert!(listed.iter().all(|letter| letter["issue"] == issue), "{listed:?}");
    assert_eq!(listed.len(), 3);
    let told = folder.run(&["dead", "issues"]).done().out;
    assert!(told.contains(issue) && told.contains("nowhere"), "{told}");
    folder
        .run(&["dead", "discard", "--issue", issue, "--reason", "a test", "--yes"])
        .done();
    let told = folder.run(&["dead", "issues"]).done().out;
    assert_eq!(told, "there is no dead letter\n");
    let refused = folder.run(&["dead", "redrive", "--issue", "nonsense"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("names no issue"), "{}", refused.err);
}

#[test]
fn the_audit_trail_is_verified_against_itself_and_a_noted_head() {
    let folder = quarantined(3);
    folder.run(&["dead", "redrive", "1"]).done();
    let noted = folder.run(&["audit", "--json"]).done().json().remove(0)["hash"].clone();
    let noted = noted.as_str().unwrap();
    folder.run(&["dead", "discard", "2", "--reason", "a test"]).done();
    let whole = folder.run(&["audit", "verify"]).done();
    let newest = folder.run(&["audit", "--json"]).done().json().remove(0);
    assert_eq!(
        whole.out,
        format!("2 entries, head {}\n", newest["hash"].as_str().unwrap())
    );
    assert_eq!(newest["number"], 2);
    let expected = folder
        .run(&["audit", "verify", "--expect", noted, "--json"])
        .done()
        .json()
        .remove(0);
    assert_eq!(
        (&expected["holds"], &expected["expected"]["number"]),
        (&true.into(), &1.into())
    );

    let other = folder.run(&["audit", "verify", "--expect", &"a1".repeat(32)]);
    assert_eq!(other.code, Some(1), "{}", other.err);
    assert!(
        other.out.starts_with("not the chain that was noted"),
        "{}",
        other.out
    );
    let refused = folder.run(&["audit", "verify", "--expect", "short"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);

    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let at: i64 = database
        .query_row("SELECT at FROM redeliver_audit WHERE number = 1", [], |row| {
            row.get(0)
        })
        .unwrap();
    // SQLite writes whatever it is given, where it is not forbidden.
    for forged in ["at = 'then'".to_owned(), format!("at = {at}, who = 'eve'")] {
        let forge = format!("UPDATE redeliver_audit SET {forged} WHERE number = 1");
        database.execute(&forge, []).unwrap();
        folder.run(&["audit"]).done();
        let broken = folder.run(&["audit", "verify"]);
        assert_eq!(broken.code, Some(1), "{}", broken.err);
        assert!(
            broken.out.starts_with("broken: entry 1 is not what was written"),
            "{forged}: {}",
            broken.out
        );
    }
    let broken = folder.run(&["audit", "verify"]);
    assert!(
        broken.err.contains("compare them with a backup"),
        "{}",
        broken.err
    );
}

/// Whoever can write to the tables can say of any entry that it was there, and put others behind it.
#[test]
fn a_head_that_only_the_anchor_has_proves_nothing() {
    let folder = quarantined(2);
    folder.run(&["dead", "redrive", "1"]).done();
    let noted = folder.run(&["audit", "--json"]).done().json().remove(0)["hash"].clone();
    let noted = noted.as_str().unwrap();
    folder.run(&["dead", "discard", "2", "--reason", "a test"]).done();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    database
        .execute(
            "UPDATE redeliver_audit_chain SET anchor_number = 1, anchor_hash = ?1",
            [noted],
        )
        .unwrap();
    database
        .execute("DELETE FROM redeliver_audit WHERE number = 1", [])
        .unwrap();
    folder.run(&["audit", "verify"]).done();
    let told = folder.run(&["audit", "verify", "--expect", noted]);
    assert_eq!(told.code, Some(1), "{}", told.err);
    assert!(told.out.starts_with("nothing is proved"), "{}", told.out);
    assert!(
        told.err.contains("expect a head that was noted later"),
        "{}",
        told.err
    );
}

#[test]
fn many_are_redriven_only_if_it_is_meant() {
    let folder = quarantined(5);
    let asked = folder.run(&["dead", "redrive", "--to", "nowhere"]);
    assert_eq!(asked.code, Some(2));
    assert_eq!(
        asked.err,
        "5 dead letters match\nerror: redrive 5: nobody is here to be asked; add --yes if you mean it\n"
    );
    assert_eq!(
        folder.run(&["dead", "redrive"]).code,
        Some(2),
        "all are not meant unless it is said"
    );
    assert_eq!(folder.run(&["dead", "redrive", "1", "--all"]).code, Some(2));
    assert_eq!(folder.status()["dead"], 5);
    let some = folder
        .run(&[
            "dead",
            "redrive",
            "--reason",
            "unknown_destination",
            "--limit",
            "2",
            "--yes",
        ])
        .done();
    assert_eq!(some.err, "5 dead letters match\nredriven 2\n");
    let status = folder.status();
    assert_eq!((&status["dead"], &status["due_now"]), (&3.into(), &2.into()));
    let none = folder.run(&["dead", "redrive", "--key", "k1", "--yes"]).done();
    assert_eq!(none.err, "0 dead letters match\nredriven 0\n");
    let mixed = folder.run(&["dead", "redrive", "1", "3", "99"]);
    assert_eq!((mixed.code, mixed.out.lines().count()), (Some(3), 1));
    assert!(
        mixed
            .err
            .contains("not redriven, being no dead letter: 1 (`redeliver why 1` says where it is); and because there is no message 99"),
        "{}",
        mixed.err
    );
    folder.run(&["dead", "redrive", "--all", "--yes"]).done();
    assert_eq!(folder.status()["dead"], 0);
}

#[test]
fn a_dead_letter_is_given_up_with_a_reason() {
    let folder = quarantined(2);
    let refused = folder.run(&["dead", "discard", "1"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--reason"), "{}", refused.err);
    assert_eq!(
        folder.run(&["dead", "discard", "1", "--reason", " "]).code,
        Some(2)
    );
    folder
        .run(&["dead", "discard", "1", "--reason", "a test order"])
        .done();
    assert_eq!(folder.run(&["dead", "list", "--json"]).done().json().len(), 1);
    assert_eq!(
        folder
            .run(&["dead", "list", "--json", "--discarded"])
            .done()
            .json()
            .len(),
        2
    );
    let why = folder.run(&["why", "1"]).done().out;
    assert!(
        why.contains(" was given up by alice ") && why.contains("a test order"),
        "{why}"
    );
    assert_eq!(
        folder.run(&["dead", "redrive", "1"]).code,
        Some(3),
        "what is given up stays given up"
    );
}

#[test]
fn what_is_exported_can_be_imported_elsewhere() {
    let folder = quarantined(2);
    folder
        .feed(
            &[
                "send",
                "--to",
                "nowhere",
                "--payload",
                "-",
                "--header",
                "X-A: b",
                "--content-type",
                "application/x",
            ],
            b"\x00\xff",
        )
        .done();
    folder.serve();
    let exported = folder.run(&["dead", "export"]).done();
    assert_eq!(exported.out.lines().count(), 3);
    folder.run(&["dead", "export", "--output", "dead.jsonl"]).done();
    let file = std::fs::read_to_string(folder.0.join("dead.jsonl")).unwrap();
    assert_eq!(file, exported.out);
    let again = ["dead", "export", "1", "--output", "dead.jsonl"];
    let refused = folder.run(&again);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--force"), "{refused:?}");
    assert_eq!(
        std::fs::read_to_string(folder.0.join("dead.jsonl")).unwrap(),
        file
    );
    folder.run(&[&again[..], &["--force"]].concat()).done();
    folder
        .run(&["dead", "export", "--json", "--output", "dead.jsonl", "--force"])
        .done();
    let missing = folder.run(&["dead", "export", "1", "99"]);
    assert_eq!((missing.code, missing.out.lines().count()), (Some(3), 1));
    assert!(missing.err.contains("there is no message 99"), "{missing:?}");

    let there = ["--database", "sqlite://other.db"];
    let import = [
        &["dead", "import", "dead.jsonl", "--json", "--why", "moved"][..],
        &there,
    ]
    .concat();
    let imported = folder.run(&import).done().json();
    assert_eq!(imported.len(), 3);
    assert!(
        imported
            .iter()
            .all(|line| line["from"].is_string() && line["imported"].is_string())
    );
    let again = folder.run(&[&["dead", "export"][..], &there].concat()).done();
    let kept = |ran: &crate::bench::Ran| -> Vec<BTreeMap<String, Value>> {
        let fields = [
            "destination",
            "key",
            "payload",
            "payload_base64",
            "content_type",
            "headers",
            "dead_letter_reason",
            "last_error",
            "attempts",
        ];
        let line = |line: Value| {
            fields
                .iter()
                .map(|field| ((*field).to_owned(), line[*field].clone()))
                .collect()
        };
        ran.json().into_iter().map(line).collect()
    };
    assert_eq!(kept(&again), kept(&exported));
    assert_eq!(kept(&again)[2]["payload_base64"], "AP8=");
    let acts = folder
        .run(&[&["audit", "--json"][..], &there].concat())
        .done()
        .json();
    assert!(
        acts.iter()
            .all(|act| act["action"] == "import" && act["why"] == "moved"),
        "{acts:?}"
    );
    assert!(!acts.is_empty());

    let wrong = folder.feed(&["dead", "import", "-"], b"{}\n");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains(
            "-:1: missing field `destination` (at byte 2); each line must be a JSON object, as `redeliver dead export` writes it"
        ),
        "{}",
        wrong.err
    );
}

#[cfg(unix)]
#[test]
fn an_editor_changes_a_payload() {
    let folder = quarantined(1);
    assert_eq!(
        folder.run(&["dead", "edit", "1"]).code,
        Some(2),
        "without an editor there is nothing to change"
    );
    let edit = |editor: &str| {
        let mut command = folder.command(&["dead", "edit", "1"]);
        let output = command.env("EDITOR", editor).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(edit("true"), (Some(0), "nothing was changed\n".to_owned()));
    let (code, told) = edit("false");
    assert_eq!(code, Some(1));
    assert!(told.contains("nothing was changed"), "{told}");
    let (code, told) = edit("/no/such/editor");
    assert_eq!(code, Some(1));
    assert!(
        told.contains("set EDITOR to one that is there, or give --payload"),
        "{told}"
    );
    assert_eq!(
        folder.run(&["dead", "edit", "1", "--header", "Host: a"]).code,
        Some(2)
    );
    assert_eq!(edit("sed -i s/1/2/").0, Some(0));
    let shown = folder.show("1");
    assert_eq!(
        (&shown["payload"], &shown["original"]["payload"]),
        (&"{\"n\":2}".into(), &"{\"n\":1}".into())
    );
    folder.run(&["dead", "edit", "1", "--to", "log"]).done();
    folder.run(&["dead", "redrive", "1"]).done();
    folder.serve();
    assert_eq!(folder.show("1")["status"], "sent");
}

#[test]
fn what_may_have_arrived_is_not_sent_twice_where_it_must_not_be() {
    for (path, sent, tested) in [
        ("/status/500", 1, 14),
        // Asking to come back says nothing of what was done.
        ("/status/500?retry_after=1", 1, 14),
        ("/status/503?retry_after=0", 2, 1),
    ] {
        let (folder, lab) = (Folder::new(), Lab::start());
        let url = format!("{}{path}", lab.server.base_url());
        folder.write(
            "redeliver.toml",
            format!(
                "[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\nidempotent = false\n\
                 policy = {{ base = \"1ms\", max = \"5ms\", max_attempts = 2 }}\n"
            ),
        );
        folder.run(&["send", "--to", "api", "--payload", "1"]).done();
        folder.run(&["serve", "--until-empty"]).done();
        assert_eq!(lab.server.stats().requests, sent, "{path}");
        let dead = folder.run(&["list", "--json"]).json().remove(0);
        let reason = match sent {
            1 => "unknown_outcome",
            _ => "attempts_exhausted",
        };
        assert_eq!(dead["dead_letter_reason"], reason, "{path}: {dead}");
        // Whoever tries it by hand is told the same.
        let test = folder.run(&["destination", "test", "api"]);
        assert_eq!(test.code, Some(tested), "{path}: {test:?}");
        assert_eq!(test.out.contains("(unknown_outcome)"), sent == 1, "{}", test.out);
    }
}

/// A consumer's inbox may have forgotten the id of a dead letter that was attempted a week ago; one that was never sent harms nobody.
#[test]
fn a_redrive_of_what_inboxes_have_forgotten_warns() {
    let folder = quarantined(3);
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let day = 24 * 3_600_000;
    for (number, days, attempts) in [(1, 8, 2), (2, 8, 0), (3, 6, 2)] {
        let past = format!(
            "UPDATE redeliver_dead SET created_at = created_at - {}, attempts = {attempts} WHERE number = {number}",
            days * day
        );
        database.execute(&past, []).unwrap();
    }
    drop(database);
    for (number, warned) in [("1", true), ("2", false), ("3", false)] {
        let redriven = folder.run(&["dead", "redrive", number]).done();
        let told = redriven
            .err
            .contains("1 dead letter was attempted, and inserted more than 7d ago");
        assert_eq!(told, warned, "{number}: {}", redriven.err);
    }
}
