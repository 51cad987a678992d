//! The `redeliver` command.
fn main() {}
