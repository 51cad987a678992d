//! The only door to the clock and to waiting. Everything else is told the time.

use std::{
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime},
};

use redeliver_policy::{Moment, http_date};

use crate::testing;

/// The process's own epoch lies this far before its first look at the clock, so that a runtime with a paused clock that was made earlier
/// still counts forward.
const MARGIN: Duration = Duration::from_secs(3600);

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let now = Instant::now();
        now.checked_sub(MARGIN).unwrap_or(now)
    })
}

/// The monotonic time since the process's epoch. It follows a paused tokio clock, and the virtual time of
/// [`testing`].
#[must_use]
pub fn now() -> Moment {
    let epoch = epoch();
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let now = tokio::time::Instant::now().into_std();
    Moment::ZERO
        .plus(now.saturating_duration_since(epoch))
        .plus(testing::skipped())
}

/// The wall clock, as time since 1970; zero on a machine that believes to be before.
#[must_use]
pub fn wall() -> Duration {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Waits without holding the thread. Under [`testing`] no time passes but the virtual one.
pub async fn sleep(duration: Duration) {
    if testing::skip(duration) {
        Timer(Pending::Skipped).await;
    } else {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        tokio::time::sleep(duration).await;
    }
}

/// A wait or a limit for a type that is polled, and so cannot await [`sleep`].
#[derive(Debug)]
pub struct Timer(Pending);

#[derive(Debug)]
enum Pending {
    Real(Pin<Box<tokio::time::Sleep>>),
    /// Skipped, but the task yields once: a loop of skipped waits must not hold its thread for ever.
    Skipped,
    Over,
}

impl Timer {
    /// A wait, skipped under [`testing`] as [`sleep`] is.
    #[must_use]
    pub fn wait(duration: Duration) -> Self {
        if testing::skip(duration) {
            Self(Pending::Skipped)
        } else {
            Self::limit(duration)
        }
    }

    /// A limit on something else, which is never skipped: no wait, no hurry.
    #[must_use]
    pub fn limit(duration: Duration) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let sleep = tokio::time::sleep(duration);
        Self(Pending::Real(Box::pin(sleep)))
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Pending::Real(sleep) => sleep.as_mut().poll(context),
            Pending::Skipped => {
                self.0 = Pending::Over;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Pending::Over => Poll::Ready(()),
        }
    }
}

/// Waits and holds the thread.
pub fn block(duration: Duration) {
    if !testing::skip(duration) {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        std::thread::sleep(duration);
    }
}

/// A time since 1970 as logs show it: `2026-11-15T20:32:24.123Z`.
#[must_use]
pub fn timestamp(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let ((year, month, day), time) = (http_date::civil(seconds / 86_400), seconds % 86_400);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let millis = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_right_on_both_sides_of_a_leap_day() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_123, "2024-03-01T00:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(Duration::from_millis(millis)), text);
        }
    }
}
