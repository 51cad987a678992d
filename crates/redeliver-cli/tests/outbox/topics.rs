use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::bench::{Folder, Lab};

/// Destinations of these names, of which `broken` refuses everything, and the routes.
fn configure(folder: &Folder, lab: &Lab, names: &[&str], routes: &str) {
    let mut text = String::new();
    for name in names {
        let path = if *name == "broken" { "/status/422" } else { "/ok" };
        let url = format!("{}{path}", lab.server.base_url());
        writeln!(
            text,
            "[destinations.{name}]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n"
        )
        .unwrap();
    }
    write!(text, "[routes]\n{routes}").unwrap();
    folder.write("redeliver.toml", text);
}

const FIVE: [&str; 5] = ["audit", "billing", "broken", "mail", "search"];
const TO_FIVE: &str = "\"orders.*\" = [\"billing\", \"mail\", \"search\", \"broken\"]\n\"**\" = \"audit\"\n";

fn replay(folder: &Folder, more: &[&str]) -> Value {
    let mut arguments = vec![
        "replay", "--to", "late", "--topic", "orders.*", "--since", "1h", "--json",
    ];
    arguments.extend(more);
    folder.run(&arguments).done().json().remove(0)
}

#[test]
fn one_insert_goes_to_five_destinations_and_later_to_a_sixth() {
    let (folder, lab) = (Folder::new(), Lab::start());
    configure(&folder, &lab, &FIVE, TO_FIVE);
    folder
        .run(&[
            "send",
            "--topic",
            "orders.paid",
            "--key",
            "order-7",
            "--payload",
            "{\"order\":7}",
        ])
        .done();
    let waiting = folder.run(&["why", "1"]).done().out;
    assert!(
        waiting.contains("Event ") && waiting.contains("on orders.paid was inserted"),
        "{waiting}"
    );
    let served = folder
        .run(&["serve", "--until-empty", "--for", "2m", "--json"])
        .done();
    let end = served.json().pop().unwrap();
    assert_eq!(
        (&end["delivered"], &end["dead"], &end["fanned_out"]),
        (&4.into(), &1.into(), &1.into())
    );
    let status = folder.status();
    assert_eq!((&status["sent"], &status["dead"]), (&4.into(), &1.into()));
    assert_eq!(status["events"]["sent"], 1);

    let event = folder.show("1");
    assert_eq!(
        (&event["status"], &event["topic"]),
        (&"fanned_out".into(), &"orders.paid".into())
    );
    let branches: Vec<(&str, &str)> = event["fan_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| {
            (
                branch["destination"].as_str().unwrap(),
                branch["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        branches,
        [
            ("audit", "sent"),
            ("billing", "sent"),
            ("broken", "dead_lettered"),
            ("mail", "sent"),
            ("search", "sent")
        ]
    );
    let delivery = folder.show(&event["fan_out"][1]["number"].to_string());
    assert_eq!(
        (&delivery["event"], &delivery["key"]),
        (&event["id"], &"order-7".into())
    );
    let words = folder.run(&["show", "1"]).done().out;
    assert!(
        words.contains("became number") && words.contains("dead_lettered"),
        "{words}"
    );
    assert!(
        folder
            .run(&["why", "1"])
            .done()
            .out
            .contains(" became the messages 2 to audit, ")
    );

    let refused = folder.run(&["replay", "--to", "late", "--topic", "**", "--since", "1h"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("no such destination; it has audit, billing"),
        "{}",
        refused.err
    );
    configure(&folder, &lab, &[&FIVE[..], &["late"]].concat(), TO_FIVE);
    assert_eq!(replay(&folder, &["--dry-run"])["messages"], 1);
    assert_eq!(folder.status()["due_now"], 0, "a trial sends nothing");
    let done = replay(&folder, &["--why", "late is new"]);
    assert_eq!((&done["messages"], &done["there_before"]), (&1.into(), &0.into()));
    let end = folder
        .run(&["serve", "--until-empty", "--for", "2m", "--json"])
        .done()
        .json()
        .pop()
        .unwrap();
    assert_eq!(end["delivered"], 1);
    let again = replay(&folder, &[]);
    assert_eq!(
        (&again["messages"], &again["there_before"]),
        (&0.into(), &1.into())
    );
    assert_eq!(folder.status()["destinations"]["late"]["sent"], 1);
    assert_eq!(folder.show("1")["fan_out"].as_array().unwrap().len(), 6);
    let audit = folder.run(&["audit", "--json"]).done().json().remove(0);
    assert_eq!(
        (
            &audit["action"],
            &audit["who"],
            &audit["why"],
            &audit["detail"]["to"]
        ),
        (
            &"replay".into(),
            &"alice".into(),
            &"late is new".into(),
            &"late".into()
        )
    );
}

#[test]
fn an_event_without_a_route_is_a_dead_letter_until_there_is_one() {
    let (folder, lab) = (Folder::new(), Lab::start());
    configure(
        &folder,
        &lab,
        &["audit"],
        "\"orders.*\" = \"audit\"\n\"health.**\" = []\n",
    );
    for topic in ["users.new", "health.db"] {
        folder.run(&["send", "--topic", topic, "--payload", "{}"]).done();
    }
    assert!(
        folder
            .serve()
            .err
            .contains(" on users.new: quarantined as no_route"),
        "it is told"
    );
    let lost = folder.show("1");
    assert_eq!(
        (&lost["status"], &lost["dead_letter_reason"]),
        (&"dead_lettered".into(), &"no_route".into())
    );
    let error = lost["last_error"].as_str().unwrap();
    assert!(
        error.contains("\"users.new\"") && error.contains("[routes]"),
        "{error}"
    );
    assert_eq!(
        folder.show("2")["status"],
        "fanned_out",
        "for nobody, and not lost"
    );
    assert_eq!(folder.show("2")["fan_out"], json!([]));
    configure(&folder, &lab, &["audit"], "\"**\" = \"audit\"\n");
    folder.run(&["dead", "redrive", "1"]).done();
    folder.serve();
    let event = folder.show("1");
    assert_eq!(
        (&event["status"], &event["fan_out"][0]["status"]),
        (&"fanned_out".into(), &"sent".into())
    );
    let list = folder
        .run(&["list", "--topic", "users.new", "--json"])
        .done()
        .json();
    assert_eq!(list.len(), 2, "the event, and its message");
}

#[test]
fn a_replay_says_what_the_history_cannot_give() {
    let (folder, lab) = (Folder::new(), Lab::start());
    let routes = "\"**\" = \"audit\"\n";
    configure(
        &folder,
        &lab,
        &["audit", "late"],
        &format!("{routes}[relay]\nhistory_payloads = false\n"),
    );
    let asked = ["replay", "--to", "late", "--topic", "**", "--since", "1h"];
    folder.run(&["send", "--topic", "a.b", "--payload", "{}"]).done();
    let empty = folder.run(&asked).done();
    assert!(empty.err.contains("the history has no event"), "{}", empty.err);
    folder.serve();
    let without = folder.run(&asked).done();
    assert!(
        without.out.starts_with("0 messages to late are in the outbox"),
        "{}",
        without.out
    );
    assert!(without.err.contains("1 events were left out"), "{}", without.err);
    assert!(
        without.err.contains("the history reaches back to"),
        "{}",
        without.err
    );
    let wrong = folder.run(&["send", "--topic", "a..b", "--payload", "{}"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("topic has an empty word"), "{}", wrong.err);
}

#[test]
fn doctor_knows_events_that_no_route_leads_from() {
    let folder = Folder::new();
    folder.run(&["send", "--topic", "a.b", "--payload", "{}"]).done();
    let ran = folder.run(&["doctor"]);
    assert!(
        ran.out.contains("1 live events name a topic and no destination"),
        "{}",
        ran.out
    );
    let status = folder.run(&["status"]).done().out;
    assert!(status.contains("(events)"), "{status}");
}
