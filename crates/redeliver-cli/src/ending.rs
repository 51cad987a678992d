//! When the person in front of the terminal wants the end.

use std::io;

/// Ready at Ctrl-C or SIGTERM; listened for from this call on, not from its first wait.
#[cfg(unix)]
pub(crate) fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// Ready at Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
