//! Random numbers that are not uniform.

use fastrand::Rng;

/// Normal deviates by Marsaglia's polar method: exact, and two for the price of one.
#[derive(Debug, Default)]
pub(crate) struct Normal {
    spare: Option<f64>,
}

impl Normal {
    /// A deviate of mean 0 and standard deviation 1.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * rng.f64() - 1.0, 2.0 * rng.f64() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

/// An exponential deviate of this mean.
pub(crate) fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    // `1 - u` is never zero, whose logarithm would be an endless wait.
    -(1.0 - rng.f64()).ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    #[test]
    fn normal_deviates_have_the_moments_and_the_tail_of_the_normal_law() {
        let (mut rng, mut normal) = (Rng::with_seed(1), Normal::default());
        let (mut sum, mut squares, mut beyond_two) = (0.0, 0.0, 0);
        for _ in 0..DRAWS {
            let value = normal.draw(&mut rng);
            sum += value;
            squares += value * value;
            beyond_two += u32::from(value.abs() > 2.0);
        }
        let count = f64::from(DRAWS);
        assert!((sum / count).abs() < 0.01);
        assert!((squares / count - 1.0).abs() < 0.015);
        assert!((f64::from(beyond_two) / count - 0.0455).abs() < 0.002);
    }

    #[test]
    fn exponential_deviates_have_their_mean_and_no_memory() {
        let mut rng = Rng::with_seed(1);
        let values: Vec<f64> = (0..DRAWS).map(|_| exponential(&mut rng, 3.0)).collect();
        let count = f64::from(DRAWS);
        assert!((values.iter().sum::<f64>() / count - 3.0).abs() < 0.03);
        let beyond_mean = values.iter().filter(|value| **value > 3.0).count();
        assert!((beyond_mean as f64 / count - (-1.0f64).exp()).abs() < 0.005);
    }
}
