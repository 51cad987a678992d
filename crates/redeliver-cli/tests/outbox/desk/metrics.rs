//! What a scrape tells, against docs/metrics.md and the files that go by it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    Desk,
    exposition::{Series, parse},
};
use crate::bench::{Folder, Lab};

const PAGE: &str = include_str!("../../../../../docs/metrics.md");

/// A metric as the page tells it: its type and its labels.
type Told = (String, BTreeSet<String>);

fn documented() -> BTreeMap<String, Told> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let told = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[2].split(", ").map(|label| label.trim_matches('`'));
        let labels = labels
            .filter(|label| !label.is_empty())
            .map(str::to_owned)
            .collect();
        let name = cells[0].trim_end_matches('`');
        (name.to_owned(), (cells[1].to_owned(), labels))
    });
    told.collect()
}

/// A relay with something of everything: deliveries, retries, a dead letter, an event.
fn busy(folder: &Folder, lab: &Lab) -> Desk {
    lab.configure(folder, "/payment/authorize");
    let config = std::fs::read_to_string(folder.0.join("redeliver.toml")).unwrap();
    folder.write(
        "redeliver.toml",
        format!("{config}\n[routes]\n\"orders.*\" = \"api\"\n"),
    );
    let desk = Desk::open(folder);
    let mut messages = vec![
        json!({ "destination": "no\"where\\", "json": 1 }),
        json!({ "topic": "orders.paid", "json": 1 }),
    ];
    messages.extend((0..20).map(|number| json!({ "destination": "api", "json": number })));
    for message in messages {
        assert_eq!(desk.post("/api/v1/messages", &message).status, 201, "{message}");
    }
    desk
}

#[test]
fn the_page_and_the_scrape_tell_the_same() {
    let (folder, lab) = (Folder::new(), Lab::start());
    let desk = busy(&folder, &lab);
    let reached = [
        "redeliver_delivered_total{destination=\"api\"} 21\n",
        "redeliver_dead_letters{destination=\"no\\\"where\\\\\"} 1\n",
        "redeliver_events_fanned_out_total 1\n",
        "redeliver_parked_lanes{destination=\"api\"} 0\n",
        "redeliver_destination_state{destination=\"api\",state=\"well\"}",
    ];
    let scrape = desk.until("/metrics", |answer| {
        reached.iter().all(|line| answer.body.contains(line))
    });
    assert_eq!(
        scrape.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let scraped = parse(&scrape.body, false);
    let documented = documented();
    assert!(documented.len() > 30, "{documented:?}");
    let told: BTreeMap<String, Told> = scraped
        .iter()
        .map(|(name, family)| {
            assert!(!family.samples.is_empty(), "nothing of {name}");
            let labels = family.labels().into_iter().map(str::to_owned).collect();
            (name.clone(), (family.kind.clone(), labels))
        })
        .collect();
    assert_eq!(told, documented);

    let value = |name: &str, labels: &[(&str, &str)]| {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let series = Series {
            name: name.to_owned(),
            labels: labels.collect(),
        };
        let family = name.strip_suffix("_count").unwrap_or(name);
        scraped[family].samples.get(&series).copied()
    };
    let attempts = |outcome| {
        value(
            "redeliver_attempts_total",
            &[("destination", "api"), ("outcome", outcome)],
        )
    };
    assert_eq!(attempts("delivered"), Some(21.0));
    let retried = value(
        "redeliver_retries_total",
        &[("destination", "api"), ("class", "throttled")],
    );
    assert_eq!(retried, attempts("throttled"));
    let all: f64 = [
        "delivered",
        "transient",
        "throttled",
        "unknown",
        "rejected",
        "gone",
    ]
    .into_iter()
    .filter_map(attempts)
    .sum();
    let counted = value(
        "redeliver_attempt_duration_seconds_count",
        &[("destination", "api")],
    );
    assert_eq!(counted, Some(all));
    let dead = [("destination", "other"), ("reason", "unknown_destination")];
    assert_eq!(value("redeliver_dead_lettered_total", &dead), Some(1.0));
    assert_eq!(value("redeliver_newest_message_number", &[]), Some(23.0));
    assert_eq!(value("redeliver_owned_shards", &[]), Some(1.0));
    assert_eq!(value("redeliver_workers_alive", &[]), Some(1.0));
    assert_eq!(value("redeliver_shards_without_owner", &[]), Some(0.0));
    assert_eq!(value("redeliver_database_up", &[]), Some(1.0));

    let accept = [(
        "accept",
        "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
    )];
    let open = desk.send("GET", "/metrics", &accept, None);
    assert!(
        open.header("content-type")
            .starts_with("application/openmetrics-text")
    );
    let open = parse(&open.body, true);
    assert!(open.keys().eq(scraped.keys()));
}

#[test]
fn whoever_may_look_may_scrape() {
    let folder = Folder::new();
    folder.write(
        "redeliver.toml",
        "[server.tokens.prometheus]\nsecret = \"prometheus-012345\"\nrole = \"read\"\n",
    );
    let desk = Desk::open(&folder);
    let refused = desk.get("/metrics");
    assert_eq!(
        (refused.status, refused.header("content-type")),
        (401, "application/problem+json")
    );
    let allowed = [("authorization", "Bearer prometheus-012345")];
    assert_eq!(desk.send("GET", "/metrics", &allowed, None).status, 200);
}

const DASHBOARD: &str = include_str!("../../../../../docs/grafana/redeliver.json");
const ALERTS: &str = include_str!("../../../../../docs/alerts.yml");

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words =
        text.split(|letter: char| !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'));
    let metrics = words.filter(|word| word.starts_with("redeliver_") || word.starts_with("process_"));
    metrics
        .map(|name| {
            let suffixes = ["_bucket", "_count", "_sum"];
            suffixes
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name)
        })
        .collect()
}

#[test]
fn dashboard_and_alerts_go_by_what_is_documented() {
    let documented = documented();
    let documented: BTreeSet<&str> = documented.keys().map(String::as_str).collect();
    let (shown, watched) = (named(DASHBOARD), named(ALERTS));
    assert_eq!(shown, documented, "the dashboard shows each of them");
    let unknown: Vec<_> = watched.difference(&documented).collect();
    assert!(
        unknown.is_empty() && watched.len() > 10,
        "{unknown:?} of {watched:?}"
    );
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let rows: Vec<&str> = panels
        .iter()
        .filter(|panel| panel["type"] == "row")
        .map(|row| row["title"].as_str().unwrap())
        .collect();
    assert_eq!(rows, ["Overview", "Destinations", "Relay", "Store"]);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let variables: Vec<&str> = variables
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["datasource", "destination", "instance"]);
    for target in panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten()
    {
        assert_eq!(target["datasource"]["uid"], "${datasource}", "{target}");
    }
}
