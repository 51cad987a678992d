//! The one shared counter type, by what the target and the checker offer. `--cfg redeliver_single_core` compiles the form
//! for small processors on any machine, so that a build can check it.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(not(loom), target_has_atomic = "64", not(redeliver_single_core)))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(not(loom), any(not(target_has_atomic = "64"), redeliver_single_core)))]
pub(crate) use single_core::{AtomicU64, Ordering};

/// For small processors without 64-bit atomics: a cell, which is not `Sync`, so sharing it is a compile error instead of a race.
#[cfg(all(not(loom), any(not(target_has_atomic = "64"), redeliver_single_core)))]
mod single_core {
    use core::cell::Cell;
    pub(crate) use core::sync::atomic::Ordering;

    #[derive(Debug)]
    pub(crate) struct AtomicU64(Cell<u64>);

    impl AtomicU64 {
        pub(crate) const fn new(value: u64) -> Self {
            Self(Cell::new(value))
        }

        pub(crate) fn load(&self, _: Ordering) -> u64 {
            self.0.get()
        }

        pub(crate) fn fetch_update(
            &self,
            _: Ordering,
            _: Ordering,
            mut update: impl FnMut(u64) -> Option<u64>,
        ) -> Result<u64, u64> {
            let before = self.0.get();
            match update(before) {
                Some(after) => {
                    self.0.set(after);
                    Ok(before)
                }
                None => Err(before),
            }
        }
    }
}
