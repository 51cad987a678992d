//! Output that cannot be written, of every command that prints and ends.

#![cfg(target_os = "linux")]

use std::{
    fs::File,
    process::{Command, Stdio},
};

use redeliver_lab::faulty::{Faulty, FaultyConfig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_is_no_success() {
    let server = Faulty::start(FaultyConfig::default()).unwrap();
    let (ok, events) = (
        format!("{}/ok", server.base_url()),
        format!("{}/sse?every=0", server.base_url()),
    );
    for arguments in [
        &["explain"][..],
        &["explain", "--json"],
        &["simulate", "occ", "--clients", "5", "--runs", "1"],
        &["call", "--quiet", &ok],
        &["call", "--quiet", "--json", &ok],
        &["call", "--quiet", "--count", "2", &ok],
        &["watch", "--quiet", &events],
        &["faulty", "--for", "1ms"],
        &["demo", "--for", "1ms"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = tokio::task::spawn_blocking(move || command.stderr(Stdio::piped()).output())
            .await
            .unwrap()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert_eq!(
            told, "error: standard output: No space left on device (os error 28)\n",
            "{arguments:?}"
        );
    }
}
