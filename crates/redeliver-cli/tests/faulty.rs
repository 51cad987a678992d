//! The server that fails on purpose, as its help tells of it.

use std::process::Command;

#[test]
fn the_help_lists_every_path() {
    let output = Command::new(env!("CARGO_BIN_EXE_redeliver"))
        .args(["faulty", "--help"])
        .output()
        .unwrap();
    assert!(output.status.success());
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}
