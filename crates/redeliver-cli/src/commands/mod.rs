//! One file a command: its flags, and what it does.

mod call;
mod demo;
mod explain;
mod faulty;
mod listen;
pub(crate) mod outbox;
mod simulate;
mod verify;
mod watch;

use std::time::Duration;

use clap::Subcommand;

use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::DemoArgs),
    #[command(flatten)]
    Outbox(outbox::OutboxCommand),
    Call(Box<call::CallArgs>),
    Explain(explain::Explain),
    Simulate(simulate::Simulate),
    Verify(verify::VerifyArgs),
    Faulty(faulty::FaultyArgs),
    Listen(Box<listen::ListenArgs>),
    Watch(Box<watch::WatchArgs>),
}

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(args) => wait_for(demo::run(args)),
        Command::Outbox(command) => wait_for(outbox::run(command)),
        Command::Call(args) => wait_for(call::run(*args)),
        Command::Explain(explain) => explain.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Verify(args) => verify::run(&args),
        Command::Faulty(args) => wait_for(faulty::run(args)),
        Command::Listen(args) => wait_for(listen::run(*args)),
        Command::Watch(args) => wait_for(watch::run(*args)),
    }
}

/// How long a thread is waited for whose work nobody waits for any more: one that wants a lock may want it for long.
const LEFT_BEHIND: Duration = Duration::from_millis(500);

/// Runs a command that waits for the network, on a runtime of its own.
fn wait_for<T: Into<Exit>>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(command);
    runtime.shutdown_timeout(LEFT_BEHIND);
    done.map(Into::into)
}
