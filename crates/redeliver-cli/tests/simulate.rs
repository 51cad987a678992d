//! `redeliver simulate` as a user runs it.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

fn redeliver(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .arg("simulate")
        .args(arguments)
        // Help is wrapped to the terminal, wherever the tests run.
        .env("COLUMNS", "100")
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is text")
}

fn answered(arguments: &[&str]) -> String {
    let output = redeliver(arguments);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&answered(arguments)).expect("one JSON object")
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

const SMALL_FLEET: [&str; 7] = [
    "fleet",
    "--clients",
    "200",
    "--capacity",
    "50/s",
    "--outage",
    "5s",
];

fn small_fleet<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL_FLEET.iter().chain(more).copied().collect()
}

#[test]
fn occ_gives_a_row_for_each_kind_and_number_of_clients() {
    let report = json(&[
        "occ",
        "--clients",
        "5,10",
        "--runs",
        "10",
        "--seed",
        "3",
        "--json",
    ]);
    assert_eq!((&report["seed"], &report["runs"]), (&3.into(), &10.into()));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 10);
    let kinds: Vec<&Value> = rows.iter().step_by(2).map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["none", "exponential", "equal", "full", "decorrelated"]);
    for row in rows {
        assert_eq!(keys(row), ["calls", "clients", "kind", "time_ms"]);
        assert!(row["calls"].as_f64() >= row["clients"].as_f64());
        assert!(row["time_ms"].as_f64() > Some(30.0));
    }
}

#[test]
fn occ_agrees_with_aws_in_its_own_words() {
    let report = json(&["occ", "--clients", "100", "--against-aws", "--json"]);
    let compared = report["against_aws"].as_array().expect("a comparison");
    assert_eq!(compared.len(), 5);
    for kind in compared {
        assert!(
            kind["calls_off"].as_f64().expect("a share").abs() < 0.03,
            "{kind}"
        );
        assert!(kind["time_off"].as_f64().expect("a share").abs() < 0.12, "{kind}");
    }
    let told = answered(&["occ", "--clients", "100", "--kinds", "full", "--against-aws"]);
    assert!(told.contains("797") && !told.contains("decorrelated"), "{told}");
}

#[test]
fn occ_counts_clients_by_list_or_by_step() {
    let clients = |arguments: &[&str]| -> Vec<u64> {
        let mut all = vec!["occ", "--runs", "1", "--kinds", "full", "--json"];
        all.extend(arguments);
        let report = json(&all);
        let rows = report["rows"].as_array().expect("rows").iter();
        rows.map(|row| row["clients"].as_u64().expect("a number"))
            .collect()
    };
    assert_eq!(clients(&["--clients", "7,3,7"]), [7, 3]);
    assert_eq!(clients(&["--clients-max", "35", "--step", "15"]), [15, 30]);
    assert_eq!(clients(&["--clients-max", "4"]), [4]);
    assert_eq!(clients(&[]), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
}

#[test]
fn fleet_sets_policies_side_by_side() {
    let report = json(&small_fleet(&["--json"]));
    assert_eq!(keys(&report), ["policies", "scenario", "seed"]);
    let policies = report["policies"].as_array().expect("policies");
    let names: Vec<&Value> = policies.iter().map(|policy| &policy["name"]).collect();
    assert_eq!(names, ["fixed", "exponential", "full", "full+budget"]);
    for policy in policies {
        let count = |field: &str| policy[field].as_u64().expect("a count");
        assert_eq!(
            count("calls"),
            count("succeeded") + count("lost") + count("unfinished")
        );
        assert_eq!(policy["series"].as_array().map(Vec::len), Some(120));
        assert!(policy["amplification"].as_f64() >= Some(1.0));
        assert!(policy["peak_load"].as_u64() >= policy["peak_after"].as_u64());
    }
    let after = |index: usize| policies[index]["peak_after"].as_u64();
    assert!(after(0) > after(2), "fixed waits come back in step");
    assert!(policies[3]["amplification"].as_f64() < Some(1.1));
}

#[test]
fn fleet_takes_presets_policy_flags_budget_and_breaker() {
    let names = |more: &[&str]| -> Vec<String> {
        let mut all = small_fleet(&["--for", "40s", "--json"]);
        all.extend(more);
        let report = json(&all);
        let policies = report["policies"].as_array().expect("policies").iter();
        policies
            .map(|policy| {
                let told = |field: &str| policy[field].as_str().expect("a text");
                format!("{}: {}", told("name"), told("pipeline"))
            })
            .collect()
    };
    let compared = names(&[
        "--compare",
        "none,grpc,decorrelated+budget+breaker",
        "--budget",
        "0.25",
    ]);
    assert!(compared[0].contains("1 attempt,"), "{compared:?}");
    assert!(compared[1].contains("from 1s to 2m"), "{compared:?}");
    assert!(
        compared[2].contains("> budget 0.25 > breaker > call"),
        "{compared:?}"
    );
    let own = names(&["--jitter", "equal", "--base", "250ms", "--breaker"]);
    assert!(
        own[0].starts_with("yours: ") && own[0].contains("breaker"),
        "{own:?}"
    );
    assert_eq!(own.len(), 5);
    assert!(own[1].contains("fixed") && own[1].contains("250ms"), "{own:?}");
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_seed_others() {
    for command in [small_fleet(&["--json"]), vec!["occ", "--clients", "20", "--json"]] {
        let with_seed = |seed: &str| {
            let mut arguments = command.clone();
            arguments.extend(["--seed", seed]);
            answered(&arguments)
        };
        assert_eq!(with_seed("9"), with_seed("9"));
        assert_ne!(with_seed("9"), with_seed("18446744073709551615"));
    }
}

#[test]
fn svg_files_are_drawn_and_repeat() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, arguments) in [
        ("fleet.svg", small_fleet(&[])),
        ("occ.svg", vec!["occ", "--runs", "2"]),
    ] {
        let path = directory.join(name);
        let draw = || {
            let mut arguments = arguments.clone();
            arguments.extend(["--svg", path.to_str().expect("a plain path")]);
            let told = answered(&arguments);
            assert!(told.contains('█'), "the terminal has its drawing too: {told}");
            fs::read_to_string(&path).expect("the file is there")
        };
        let first = draw();
        assert!(first.starts_with("<svg ") && first.trim_end().ends_with("</svg>"));
        assert_eq!(first, draw());
    }
}

#[test]
fn bad_input_is_one_line_that_says_what_is_allowed() {
    let cases: [(&[&str], &str); 20] = [
        (&["fleet", "--clients", "0"], "from 1 to 1000000"),
        (&["fleet", "--clients", "1000001"], "from 1 to 1000000"),
        (&["fleet", "--capacity", "500"], "such as 500/s"),
        (&["fleet", "--capacity", "-1/s"], "such as 500/s"),
        (&["fleet", "--capacity", "1e300/s"], "such as 500/s"),
        (&["fleet", "--outage", "10"], "has no unit"),
        (&["fleet", "--outage", "0s"], "longer than 0s"),
        (&["fleet", "--outage", "100000d"], "at most 1d"),
        (&["fleet", "--for", "5s"], "must be 30s"),
        (
            &["fleet", "--compare", "full,heroic"],
            "--compare \"heroic\": must be yours",
        ),
        (&["fleet", "--compare", "full,full"], "named twice"),
        (&["fleet", "--budget", "NaN"], "from 0 to 100"),
        (&["fleet", "--herd", "1.5"], "must be 0 to 1"),
        (&["fleet", "--seed", "-1"], "from 0 to 18446744073709551615"),
        (&["fleet", "--base", "0s"], "base = 0s"),
        (&["fleet", "--preset", "heroic"], "interactive"),
        (&["occ", "--clients", "10,ten"], "from 1 to 10000"),
        (
            &["occ", "--kinds", "fuzzy"],
            "none, exponential, equal, full or decorrelated",
        ),
        (&["occ", "--base", "3s"], "must be from the base, 3s"),
        (&["occ", "--clients", "10", "--against-aws"], "for 100 clients"),
    ];
    for (arguments, allowed) in cases {
        let output = redeliver(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(allowed),
            "{arguments:?}: {said}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let output = redeliver(&["occ", "--clients", "2", "--runs", "1", "--svg", "missing/occ.svg"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("error: svg file missing/occ.svg: cannot be written"),
        "{said}"
    );
}

#[test]
fn help_explains_the_model_and_has_examples() {
    insta::assert_snapshot!("occ_help", plain(&answered(&["occ", "--help"])));
    let fleet = plain(&answered(&["fleet", "--help"]));
    // The policy's flags are the same for every command, and not this one's to pin down.
    let (own, rest) = fleet.split_once("Retry policy:\n").expect("a heading");
    let (policy, model) = rest.split_once("\n\n").expect("what follows the flags");
    assert!(policy.contains("--max-attempts"), "{policy}");
    insta::assert_snapshot!("fleet_help", format!("{own}{model}"));
}

/// Without the colours of a terminal, which clap adds by itself.
fn plain(styled: &str) -> String {
    let mut parts = styled.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or(part, |(_, rest)| rest)
    })
}
