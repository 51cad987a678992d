//! `redeliver explain` as a user runs it: the documents' tables, and an answer to every nonsense.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use serde_json::{Value, json};

/// What the command printed, and how it ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn explain(arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .arg("explain")
        .args(arguments)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn explained(arguments: &[&str]) -> String {
    let ran = explain(arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    ran.out
}

fn as_json(arguments: &[&str]) -> Value {
    let out = explained(&[arguments, &["--json"]].concat());
    assert_eq!(out.lines().count(), 1);
    serde_json::from_str(&out).unwrap()
}

/// The one line on standard error of a call that is refused.
fn refused(arguments: &[&str]) -> String {
    let ran = explain(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    ran.err.trim_end().to_owned()
}

/// `[attempt, min, mean, max]` of each wait.
fn waits(report: &Value) -> Vec<Value> {
    let waits = report["waits"].as_array().unwrap().iter();
    waits
        .map(|wait| json!([wait["attempt"], wait["min_ms"], wait["mean_ms"], wait["max_ms"]]))
        .collect()
}

/// A directory of its own for one test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = env::temp_dir().join(format!("redeliver-explain-{test}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn holding(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FROM_002: [&str; 8] = [
    "--base",
    "1s",
    "--max",
    "30s",
    "--max-attempts",
    "7",
    "--jitter",
    "additive:0.3",
];

#[test]
fn a4_the_table_of_002() {
    let report = as_json(&FROM_002);
    assert_eq!(
        waits(&report),
        [
            json!([1, 1000, 1150, 1300]),
            json!([2, 2000, 2300, 2600]),
            json!([3, 4000, 4600, 5200]),
            json!([4, 8000, 9200, 10400]),
            json!([5, 16000, 18400, 20800]),
            json!([6, 30000, 34500, 39000]),
        ]
    );
    let running: Vec<&Value> = (0..6)
        .map(|index| &report["waits"][index]["total_max_ms"])
        .collect();
    assert_eq!(running, [1300, 3900, 9100, 19500, 40300, 79300]);
    assert_eq!(
        [
            &report["total_min_ms"],
            &report["total_mean_ms"],
            &report["total_max_ms"]
        ],
        [61000, 70150, 79300]
    );
    assert_eq!(
        (&report["unlimited"], &report["totals_cover"]),
        (&json!(false), &json!(6))
    );
    assert_eq!(report["lints"][0]["rule"], "passes_cap");
}

#[test]
fn a5_the_table_of_003() {
    let report = as_json(&["--preset", "reconnect", "--waits-shown", "8"]);
    assert_eq!(
        waits(&report),
        [
            json!([1, 900, 1000, 1100]),
            json!([2, 1800, 2000, 2200]),
            json!([3, 3600, 4000, 4400]),
            json!([4, 7200, 8000, 8800]),
            json!([5, 14400, 16000, 17600]),
            json!([6, 27000, 30000, 33000]),
            json!([7, 27000, 30000, 33000]),
            json!([8, 27000, 30000, 33000]),
        ]
    );
    assert_eq!(report["unlimited"], true);
    assert_eq!(
        (&report["waits_in_all"], &report["totals_cover"]),
        (&Value::Null, &json!(8))
    );
    assert_eq!(report["total_max_ms"], 133_100);
    assert_eq!(
        as_json(&["--preset", "reconnect"])["waits"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
}

#[test]
fn a4_the_presets_show_their_true_totals() {
    let presets = as_json(&["--presets"]);
    let totals: Vec<Value> = presets["presets"].as_array().unwrap()[..3]
        .iter()
        .map(|preset| json!([preset["name"], preset["total_min_ms"], preset["total_max_ms"]]))
        .collect();
    // 002 says 4.5 s, 1 min 30 s and 30 min.
    assert_eq!(
        totals,
        [
            json!(["interactive", 300, 360]),
            json!(["standard", 15_000, 19_500]),
            json!(["batch", 1_215_000, 1_822_500]),
        ]
    );
}

#[test]
fn a_time_that_is_no_whole_millisecond_is_a_fraction() {
    let report = as_json(&[
        "--base",
        "1500us",
        "--max",
        "1s",
        "--jitter",
        "full",
        "--max-attempts",
        "2",
    ]);
    assert_eq!(waits(&report), [json!([1, 0, 0.75, 1.5])]);
    let tidy = as_json(&[
        "--base",
        "100ms",
        "--jitter",
        "additive:0.29",
        "--max-attempts",
        "2",
    ]);
    assert_eq!(waits(&tidy), [json!([1, 100, 114.5, 129])]);
}

#[test]
fn any_number_of_attempts_is_answered_at_once_and_in_full() {
    let most = as_json(&["--max-attempts", "4294967295"]);
    assert_eq!(most["waits"].as_array().unwrap().len(), 100);
    assert_eq!(most["waits_in_all"], 4_294_967_294u32);
    assert_eq!(most["totals_cover"], 4_294_967_294u32);
    // 1 + 2 + 4 + 8 + 16 s, then 30 s each.
    assert_eq!(most["total_min_ms"], (31 + 30 * 4_294_967_289u64) * 1_000);
    let slow = [
        "--backoff",
        "linear",
        "--base",
        "1ns",
        "--max",
        "100d",
        "--max-attempts",
        "4294967295",
    ];
    assert_eq!(as_json(&slow)["totals_cover"], 100_000);
    let text = explained(&slow);
    assert!(
        text.contains("100 of 4294967294 waits shown. The first 100000 take"),
        "{text}"
    );
}

#[test]
fn a_comparison_holds_both() {
    let report = as_json(&["--preset", "standard", "--compare", "grpc", "--compare", "batch"]);
    assert_eq!(report["name"], "standard");
    assert_eq!(report["total_max_ms"], 19_500);
    assert_eq!(report["compare"][0]["name"], "grpc");
    assert_eq!(report["compare"][1]["total_max_ms"], 1_822_500);
}

#[test]
fn every_preset_reads_well() {
    for name in [
        "interactive",
        "standard",
        "batch",
        "reconnect",
        "aws-standard",
        "grpc",
        "finagle",
    ] {
        insta::assert_snapshot!(format!("preset_{name}"), explained(&["--preset", name]));
    }
    insta::assert_snapshot!("presets", explained(&["--presets"]));
}

#[test]
fn every_shape_reads_well() {
    let shapes: [(&str, &[&str]); 6] = [
        ("help", &["--help"]),
        (
            "comparison",
            &[
                "--base",
                "200ms",
                "--compare",
                "aws-standard",
                "--compare",
                "standard",
            ],
        ),
        ("one_attempt", &["--max-attempts", "1"]),
        (
            "list",
            &["--waits", "1s,5s,30s", "--jitter", "none", "--max-attempts", "9"],
        ),
        (
            "decorrelated",
            &[
                "--base",
                "100ms",
                "--max",
                "20s",
                "--jitter",
                "decorrelated",
                "--max-attempts",
                "9",
            ],
        ),
        (
            "deadline",
            &[
                "--max-attempts",
                "unlimited",
                "--deadline",
                "3m",
                "--attempt-timeout",
                "5s",
            ],
        ),
    ];
    for (name, arguments) in shapes {
        insta::assert_snapshot!(name, explained(arguments));
    }
}

#[test]
fn every_bad_flag_is_refused_in_one_line() {
    let calls: [&[&str]; 30] = [
        &["--base", "fast"],
        &["--base", "5"],
        &["--base", "-1s"],
        &["--base", "0s"],
        &["--base", "999999999999d"],
        &["--base", "--json"],
        &["--max", ""],
        &["--base", "10s", "--max", "1s"],
        &["--preset", "heroic"],
        &["--compare", "heroic"],
        &["--backoff", "wild"],
        &["--jitter", "fuzzy"],
        &["--jitter", "additive"],
        &["--jitter", "additive:NaN"],
        &["--jitter", "proportional:2"],
        &["--multiplier", "NaN"],
        &["--multiplier", "inf"],
        &["--multiplier", "-2"],
        &["--multiplier", "two"],
        &["--backoff", "fixed", "--multiplier", "3"],
        &["--max-attempts", "0"],
        &["--max-attempts", "-1"],
        &["--max-attempts", "4294967296"],
        &["--deadline", "0s"],
        &["--waits", "1s,,2s"],
        &["--waits", "1s", "--base", "2s"],
        &["--waits-shown", "0"],
        &["--presets", "--compare", "grpc"],
        &["--preset", "grpc", "--policy", "grpc.toml"],
        &["--bass", "1s"],
    ];
    let answers: Vec<String> = calls
        .iter()
        .map(|call| format!("{}\n    {}", call.join(" "), refused(call)))
        .collect();
    insta::assert_snapshot!("bad_flags", answers.join("\n"));
}

#[test]
fn every_bad_policy_file_is_refused_in_one_line() {
    let scratch = Scratch::new("files");
    let files = [
        ("broken.toml", "base = \"1s\"\nmax = = 3\n"),
        ("unknown_field.toml", "base = \"1s\"\nmax_delay = \"3s\"\n"),
        ("rule.toml", "jitter = \"full\"\nbase = \"10s\"\nmax = \"1s\"\n"),
        ("type.toml", "max_attempts = 3\nbase = 5\n"),
        ("duration.toml", "# slow\n\nbase = \"5\"\n"),
        ("nan.toml", "base = \"1s\"\nmultiplier = nan\n"),
        ("preset.toml", "preset = \"heroic\"\n"),
        ("jitter.toml", "jitter = \"additive\"\n"),
        ("negative.toml", "base = \"1s\"\nmax_attempts = -1\n"),
        ("no_attempts.toml", "base = \"1s\"\nmax_attempts = 0\n"),
        ("table.toml", "[retry]\nbase = \"1s\"\n"),
    ];
    let mut answers: Vec<String> = files
        .iter()
        .map(|(name, text)| refused(&["--policy", &scratch.holding(name, text)]))
        .collect();
    let directory = scratch.0.to_str().unwrap();
    answers.push(refused(&["--policy", &format!("{directory}/missing.toml")]));
    answers.push(refused(&[
        "--policy",
        &scratch.holding("long.toml", &"#".repeat(70_000)),
    ]));
    let shown = answers.join("\n").replace(directory, "[directory]");
    insta::assert_snapshot!("bad_files", shown);
}

#[test]
fn a_policy_file_is_read_and_flags_change_it() {
    let scratch = Scratch::new("good");
    let file = scratch.holding("payments.toml", "preset = \"interactive\"\nbase = \"200ms\"\n");
    let report = as_json(&["--policy", &file, "--jitter", "none"]);
    assert_eq!(
        waits(&report),
        [json!([1, 200, 200, 200]), json!([2, 400, 400, 400])]
    );
    assert_eq!(report["lints"][0]["rule"], "no_jitter");
}

#[test]
fn the_drawing_is_written_only_where_asked_and_always_the_same() {
    let scratch = Scratch::new("svg");
    let draw = |name: &str, arguments: &[&str]| {
        let path = scratch.0.join(name).into_os_string().into_string().unwrap();
        explained(&[arguments, &["--svg", &path]].concat());
        fs::read_to_string(path).unwrap()
    };
    let drawing = draw("one.svg", &FROM_002);
    assert_eq!(drawing, draw("two.svg", &FROM_002));
    assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
    for said in ["30s – 39s", "1m 1s – 1m 19.3s", "prefers-color-scheme:dark"] {
        assert!(drawing.contains(said), "{said}");
    }
    let compared = draw("compared.svg", &["--compare", "grpc"]);
    assert!(compared.contains(">grpc</text>") && compared.contains(">this policy</text>"));
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 3);
}

#[test]
fn a_drawing_that_cannot_be_written_is_a_clear_error() {
    let path = Path::new("no-such-directory").join("x.svg");
    let ran = explain(&["--svg", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(ran.err.lines().count(), 1);
    assert!(ran.err.contains("svg file no-such-directory"), "{}", ran.err);
}
