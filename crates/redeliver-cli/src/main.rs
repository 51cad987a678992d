//! The `redeliver` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    redeliver_cli::main()
}
