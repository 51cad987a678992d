//! When the person in front of the terminal wants the end.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What somebody asks of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask again there"))]
pub(crate) enum Asked {
    /// The end, by the signal of this number.
    End(u8),
    /// To read its configuration again.
    Again,
}

/// What asks for the end: Ctrl-C, SIGTERM, or SIGHUP unless the process was started to outlive its terminal.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupted: Signal,
    terminated: Signal,
    hung_up: Option<Signal>,
    /// SIGHUP, where it asks for something else than the end.
    asked_again: Option<Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Listens from this call on, not from the first wait.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
            hung_up: match outlives_its_terminal() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
            asked_again: None,
        })
    }

    /// The same for a daemon, which SIGHUP asks to read its configuration again; in a terminal it is the end as ever.
    pub(crate) fn listen_as_daemon() -> io::Result<Self> {
        let mut signals = Self::listen()?;
        let watched = io::stdout().is_terminal() || io::stderr().is_terminal();
        if !watched {
            signals.asked_again = Some(signal(SignalKind::hangup())?);
            signals.hung_up = None;
        }
        Ok(signals)
    }

    /// The next thing that is asked for.
    pub(crate) async fn asked(&mut self) -> Asked {
        let kind = tokio::select! {
            _ = self.interrupted.recv() => SignalKind::interrupt(),
            _ = self.terminated.recv() => SignalKind::terminate(),
            () = received(self.hung_up.as_mut()) => SignalKind::hangup(),
            () = received(self.asked_again.as_mut()) => return Asked::Again,
        };
        Asked::End(u8::try_from(kind.as_raw_value()).unwrap_or_default())
    }

    /// The number of the next one that asks for the end.
    pub(crate) async fn next(&mut self) -> u8 {
        loop {
            if let Asked::End(number) = self.asked().await {
                return number;
            }
        }
    }
}

#[cfg(unix)]
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP is ignored, as `nohup` leaves it: listening for it would undo that.
#[cfg(unix)]
fn outlives_its_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// What asks for the end: Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere listening may fail")]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unnecessary_wraps, reason = "elsewhere listening may fail")]
    pub(crate) fn listen_as_daemon() -> io::Result<Self> {
        Ok(Self)
    }

    /// The end: there is no signal for anything else here.
    pub(crate) async fn asked(&mut self) -> Asked {
        Asked::End(self.next().await)
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> u8 {
        drop(tokio::signal::ctrl_c().await);
        2
    }
}

/// Ready once the end is asked for.
pub(crate) fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move {
        let _number = signals.next().await;
    })
}

/// The same, or once this time is over.
pub(crate) async fn ended_by(told: impl Future<Output = ()>, run_for: Option<Duration>) {
    match run_for {
        // Elapsed or told to end, it is over.
        Some(limit) => drop(tokio::time::timeout(limit, told).await),
        None => told.await,
    }
}
