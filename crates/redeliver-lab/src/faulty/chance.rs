//! Chance from one seed: each request draws from a generator of its own, so concurrent requests cannot disturb
//! each other's faults.

/// The generator of request number `number`.
pub(crate) fn generator(seed: u64, number: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(mix(seed ^ mix(number)))
}

/// True in `percent` of 100 cases.
pub(crate) fn happens(rng: &mut fastrand::Rng, percent: u8) -> bool {
    rng.u8(0..100) < percent
}

/// SplitMix64's finisher: neighbouring numbers come out unrelated.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_number_draw_the_same() {
        let draw = |seed, number| generator(seed, number).u64(..);
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
    }

    #[test]
    fn neighbouring_requests_fail_at_the_rate_asked_for() {
        let failed = (0..100_000)
            .filter(|n| happens(&mut generator(1, *n), 40))
            .count();
        assert!((39_500..=40_500).contains(&failed), "{failed} of 100000");
        assert!((0..1000).all(|n| !happens(&mut generator(1, n), 0)));
        assert!((0..1000).all(|n| happens(&mut generator(1, n), 100)));
    }
}
