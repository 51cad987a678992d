//! Maps by the number of a message. Numbers come from the database's own counter: nobody chooses them to collide.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

pub(super) type ByNumber<T> = HashMap<i64, T, BuildHasherDefault<Scatter>>;
pub(super) type Set<T> = HashSet<T, BuildHasherDefault<Scatter>>;

/// Spreads numbers that follow each other over all bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scatter(u64);

/// 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Scatter {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0.rotate_left(26) ^ number) * u128::from(GOLDEN);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;

    #[test]
    fn numbers_in_a_row_and_in_steps_fall_into_different_places() {
        let hasher = BuildHasherDefault::<Scatter>::default();
        for step in [1_i64, 2, 16, 1 << 20, 1 << 40] {
            // The places of a table are told by the lowest bits, its tags by the highest.
            let places: HashSet<u64> = (0..1_000_i64)
                .map(|at| hasher.hash_one(at * step) & 0xffff)
                .collect();
            let tags: HashSet<u64> = (0..1_000_i64)
                .map(|at| hasher.hash_one(at * step) >> 57)
                .collect();
            assert!(places.len() > 950, "{} places for steps of {step}", places.len());
            assert!(tags.len() > 100, "{} tags for steps of {step}", tags.len());
        }
    }
}
