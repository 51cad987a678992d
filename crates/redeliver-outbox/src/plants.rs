//! Bugs that are planted on purpose, one at a time, to see whether the simulator's checkers find them. Without the feature `plants` none
//! can be planted, and the compiler removes the places where they would be.

use std::{fmt, str::FromStr};

macro_rules! plants {
    ($($variant:ident = $name:literal: $what:literal,)*) => {
        /// A bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Plant { $(#[doc = $what] $variant,)* }

        impl Plant {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What is wrong with it.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$variant => $what),* }
            }
        }
    };
}

plants! {
    NoFence = "no-fence": "a settle does not look at the epoch",
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that no plant has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no bug named '{0}' to plant; `redeliver verify --list-plants` names them")]
pub struct NoPlant(String);

impl FromStr for Plant {
    type Err = NoPlant;

    fn from_str(name: &str) -> Result<Self, NoPlant> {
        let mut all = Self::ALL.iter().copied();
        all.find(|plant| plant.as_str() == name)
            .ok_or_else(|| NoPlant(name.chars().take(64).collect()))
    }
}

/// Whether this build can have bugs planted.
pub const AVAILABLE: bool = cfg!(feature = "plants");

#[cfg(feature = "plants")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Plant>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug on this thread, until what is returned is dropped.
#[must_use]
pub fn plant(plant: Option<Plant>) -> Planted {
    #[cfg(feature = "plants")]
    PLANTED.set(plant);
    #[cfg(not(feature = "plants"))]
    let _ = plant;
    Planted(())
}

/// Takes the bug out again.
#[derive(Debug)]
pub struct Planted(());

impl Drop for Planted {
    fn drop(&mut self) {
        #[cfg(feature = "plants")]
        PLANTED.set(None);
    }
}

#[cfg(feature = "plants")]
pub(crate) fn planted(plant: Plant) -> bool {
    PLANTED.get() == Some(plant)
}

#[cfg(not(feature = "plants"))]
pub(crate) const fn planted(_: Plant) -> bool {
    false
}
