//! The names of destinations as labels. They come out of rows, too, which anybody may insert: so many are told apart, and no more.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// So many destinations have a label of their own.
const MOST: usize = 1_000;
/// The label of all others, and of messages for destinations that there are not.
pub(super) const OTHER: &str = "other";
/// The label of events, which have no destination.
pub(super) const EVENTS: &str = "(events)";

/// Who came first keeps its label: what moved to another would be a jump in both.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<BTreeSet<String>>);

impl Names {
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = Self::default();
        for name in names {
            known.label(name);
        }
        known
    }

    pub(super) fn label<'a>(&self, name: &'a str) -> &'a str {
        if name.is_empty() {
            return EVENTS;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) {
            return name;
        }
        if known.len() >= MOST {
            return OTHER;
        }
        known.insert(name.to_owned());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_is_one_of_the_others() {
        let first: Vec<String> = (0..MOST).map(|number| format!("d{number}")).collect();
        let names = Names::of(first.iter().map(String::as_str));
        assert_eq!(names.label("d7"), "d7");
        assert_eq!(names.label("late"), OTHER);
        assert_eq!(names.label("d999"), "d999");
        assert_eq!(names.label(""), EVENTS);
        assert_eq!(Names::default().label("late"), "late");
    }
}
