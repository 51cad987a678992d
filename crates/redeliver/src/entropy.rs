//! The only door to chance.

use crate::testing;

/// 64 random bits: of the thread's own generator, or of the seed under [`testing`].
#[must_use]
pub fn draw() -> u64 {
    testing::seeded().unwrap_or_else(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        fastrand::u64(..)
    })
}
