//! The file that a relay is configured with: what it means, and what is said of mistakes.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it should be"
)]

mod example;
mod imports;
mod mistakes;
mod settings;

use std::{fs, path::Path};

use redeliver_outbox::config::{Config, ConfigError};

const SECRET: &str = "hunter2";
/// A valid destination, to which something wrong is added.
const BILLING: &str = "[destinations.billing]\ntype = \"http\"\nurl = \"https://example.com\"\n";

fn parse(text: &str) -> Result<Config, ConfigError> {
    let variables = |name: &str| match name {
        "TOKEN" => Some(SECRET.to_owned()),
        "BROKEN" => Some(format!("{SECRET}\n{SECRET}")),
        "URL" => Some(format!("https://user:{SECRET}@example.com/{SECRET}?{SECRET}")),
        _ => None,
    };
    Config::parse(text, Path::new("redeliver.toml"), &variables)
}

/// A directory of this test's own.
fn tempdir(name: &str) -> std::path::PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}
