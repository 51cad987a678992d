//! A map that forgets its oldest keys, so that a long run cannot fill the memory.

use std::collections::{BTreeMap, VecDeque};

/// Keeps at most `limit` keys; a new key beyond that pushes out the one that came first.
pub struct Recent<V> {
    limit: usize,
    values: BTreeMap<String, V>,
    order: VecDeque<String>,
}

impl<V: Default> Recent<V> {
    /// Nothing yet.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            values: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// The value of `key`, made with its default if it is new or forgotten.
    pub fn entry(&mut self, key: &str) -> &mut V {
        if !self.values.contains_key(key) {
            if self.order.len() >= self.limit
                && let Some(oldest) = self.order.pop_front()
            {
                self.values.remove(&oldest);
            }
            self.order.push_back(key.to_owned());
        }
        self.values.entry(key.to_owned()).or_default()
    }

    /// What is kept, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.values.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_key_is_forgotten_first() {
        let mut recent = Recent::<u32>::new(2);
        for key in ["a", "b", "a", "c"] {
            *recent.entry(key) += 1;
        }
        let kept: Vec<_> = recent.iter().map(|(key, count)| (key.as_str(), *count)).collect();
        assert_eq!(kept, [("b", 1), ("c", 1)]);
    }
}
