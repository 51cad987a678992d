//! Runs the body of every fuzz target over its committed corpus, so that neither rots between fuzzing sessions.

use std::{fs, path::Path};

#[path = "fuzz_bodies/duration.rs"]
mod duration;
#[path = "fuzz_bodies/http_date.rs"]
mod http_date;
#[path = "fuzz_bodies/jitter.rs"]
mod jitter;
#[path = "fuzz_bodies/policy.rs"]
mod policy;
#[path = "fuzz_bodies/retry_after.rs"]
mod retry_after;

/// Few enough to read through, and enough that an empty folder is noticed.
const FILES: std::ops::RangeInclusive<usize> = 10..=60;

fn run_all(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut files = 0;
    for entry in fs::read_dir(&folder).expect("every target has a corpus") {
        let path = entry.expect("a readable folder").path();
        let data = fs::read(&path).expect("a readable file");
        let outcome = std::panic::catch_unwind(|| body(&data));
        assert!(outcome.is_ok(), "{} fails", path.display());
        files += 1;
    }
    assert!(FILES.contains(&files), "{files} files in {}", folder.display());
}

#[test]
fn duration_corpus() {
    run_all("duration", duration::run);
}

#[test]
fn http_date_corpus() {
    run_all("http_date", http_date::run);
}

#[test]
fn jitter_corpus() {
    run_all("jitter", jitter::run);
}

#[test]
fn policy_corpus() {
    run_all("policy", policy::run);
}

#[test]
fn retry_after_corpus() {
    run_all("retry_after", retry_after::run);
}
