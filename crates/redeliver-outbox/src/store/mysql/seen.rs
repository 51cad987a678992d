use std::collections::BTreeMap;

const BITS: i64 = 512;

/// The numbers of the rows of one shard that were returned, as far back as there are ranges to look at again.
///
/// A bit for each number that exists: with sixteen shards two or three bytes a message, so that a writer who stays away for long does
/// not cost the relay its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(BTreeMap<i64, [u64; (BITS / 64) as usize]>);

impl Seen {
    pub(super) fn add(&mut self, number: i64) {
        let (word, bit) = place(number);
        if let Some(word) = self.0.entry(number.div_euclid(BITS)).or_default().get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn contains(&self, number: i64) -> bool {
        let (word, bit) = place(number);
        self.0
            .get(&number.div_euclid(BITS))
            .and_then(|words| words.get(word))
            .is_some_and(|word| word & bit != 0)
    }

    /// Forgets numbers that nobody will ask for again: those up to this one, or all.
    pub(super) fn forget(&mut self, up_to: Option<i64>) {
        match up_to {
            Some(number) => self.0 = self.0.split_off(&(number + 1).div_euclid(BITS)),
            None => self.0.clear(),
        }
    }
}

fn place(number: i64) -> (usize, u64) {
    let bit = number.rem_euclid(BITS);
    (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_known_until_it_is_forgotten() {
        let mut seen = Seen::default();
        let numbers = [1, 63, 64, 511, 512, 513, 1_000_000, i64::from(u32::MAX) * 7];
        for number in numbers {
            assert!(!seen.contains(number));
            seen.add(number);
        }
        assert!(numbers.iter().all(|&number| seen.contains(number)));
        assert!(!seen.contains(2) && !seen.contains(514));
        seen.forget(Some(600));
        assert!(!seen.contains(1) && seen.contains(1_000_000));
        // 512 shares its words with 601, which somebody may still ask for.
        assert!(seen.contains(513));
        seen.forget(None);
        assert!(!seen.contains(1_000_000));
    }
}
