use std::{
    collections::{VecDeque, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
};

use crate::{DeadReason, destination::SurgeRule};

/// Notices that nearly everything is rejected, and in the same way: then it is not the messages.
#[derive(Clone, Debug)]
pub(super) struct Surge {
    rule: SurgeRule,
    /// The last outcomes: in which way it was rejected, or none.
    last: VecDeque<Option<u64>>,
}

impl Surge {
    pub(super) const fn new(rule: SurgeRule) -> Self {
        Self {
            rule,
            last: VecDeque::new(),
        }
    }

    /// Of how many it looks at.
    pub(super) const fn of(&self) -> usize {
        self.rule.of
    }

    pub(super) fn arrived(&mut self) {
        self.note(None);
    }

    /// Says how many of the last were rejected in this way, if that is a surge.
    pub(super) fn rejected(&mut self, kind: DeadReason, reason: &str) -> Option<usize> {
        let way = way(kind, reason);
        self.note(Some(way));
        let same = self.last.iter().filter(|&&other| other == Some(way)).count();
        let enough = (self.rule.share * self.rule.of as f64).ceil().max(1.0);
        (same as f64 >= enough).then_some(same)
    }

    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    fn note(&mut self, outcome: Option<u64>) {
        while self.last.len() >= self.rule.of.max(1) {
            self.last.pop_front();
        }
        self.last.push_back(outcome);
    }
}

/// So many words of a reason tell one way of rejecting from another; what follows is the message's own.
const WORDS: usize = 8;

/// The same for two rejections that differ in numbers, ids and the like only.
fn way(kind: DeadReason, reason: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    kind.as_str().hash(&mut hasher);
    let status = reason.split(' ').next().unwrap_or_default();
    status.hash(&mut hasher);
    let words = reason.split(|character: char| !character.is_alphanumeric());
    let plain = words.filter(|word| !word.is_empty() && word.chars().all(char::is_alphabetic));
    for word in plain.take(WORDS) {
        word.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SurgeRule = SurgeRule { of: 50, share: 0.8 };
    const KIND: DeadReason = DeadReason::Permanent;

    fn first(surge: &mut Surge, count: usize, reason: impl Fn(usize) -> String) -> Option<usize> {
        (0..count).position(|at| surge.rejected(KIND, &reason(at)).is_some())
    }

    #[test]
    fn a_surge_is_many_rejections_of_one_kind() {
        let mut surge = Surge::new(RULE);
        let revoked = |at| format!("401 Unauthorized: key {at} was revoked");
        assert_eq!(first(&mut surge, 60, revoked), Some(39));
        surge.forget();
        assert_eq!(
            first(&mut surge, 500, |at| format!("{} Refused", 400 + at % 4)),
            None
        );
    }

    #[test]
    fn a_few_bad_ones_among_good_ones_are_no_surge() {
        let mut surge = Surge::new(RULE);
        for _ in 0..500 {
            assert_eq!(surge.rejected(KIND, "400 Bad Request"), None);
            surge.arrived();
        }
        assert_eq!(surge.last.len(), RULE.of, "no more than it looks at is kept");
    }
}
