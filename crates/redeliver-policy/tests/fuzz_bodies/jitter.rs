//! Raw bits of a shape, a cap, a jitter, a retry number and entropy; and the rest of the bytes as a jitter's text.

use std::time::Duration;

use redeliver_policy::{Backoff, Jitter, Policy, WaitList};

/// Takes numbers off the front of the bytes; an empty rest reads as zero.
struct Bits<'a>(&'a [u8]);

impl Bits<'_> {
    fn next(&mut self) -> u64 {
        let mut bytes = [0; 8];
        let taken = self.0.len().min(8);
        bytes[..taken].copy_from_slice(&self.0[..taken]);
        self.0 = &self.0[taken..];
        u64::from_le_bytes(bytes)
    }

    fn duration(&mut self) -> Duration {
        Duration::new(self.next(), 0).min(Duration::from_nanos(self.next()))
    }

    fn float(&mut self) -> f64 {
        f64::from_bits(self.next())
    }
}

pub(crate) fn run(data: &[u8]) {
    let mut bits = Bits(data);
    let kinds = bits.next();
    let base = bits.duration();
    let backoff = match kinds % 5 {
        0 => Backoff::Fixed { base },
        1 => Backoff::Linear {
            base,
            step: bits.duration(),
        },
        2 => Backoff::Exponential {
            base,
            multiplier: bits.float(),
        },
        3 => Backoff::Fibonacci { base },
        _ => Backoff::List(WaitList::new(&[base, bits.duration()])),
    };
    let jitter = match kinds / 5 % 6 {
        0 => Jitter::None,
        1 => Jitter::Full,
        2 => Jitter::Equal,
        3 => Jitter::Decorrelated,
        4 => Jitter::Additive(bits.float()),
        _ => Jitter::Proportional(bits.float()),
    };
    let policy = Policy::new(backoff, bits.duration()).jitter(jitter);
    let (retry, entropy) = (bits.next() as u32, bits.next());
    let (low, high) = policy.bounds(retry);
    let wait = policy.wait(retry, Duration::ZERO, entropy);
    assert!(low <= wait && wait <= high, "{policy:?} {retry} {wait:?}");
    if jitter.factor().is_none() {
        assert!(high <= policy.max_delay, "{policy:?} {retry} {high:?}");
    }
    if let Ok(text) = std::str::from_utf8(bits.0)
        && let Ok(read) = text.parse::<Jitter>()
    {
        let shown = read.to_string();
        assert_eq!(
            shown.parse::<Jitter>().map(|jitter| jitter.to_string()),
            Ok(shown)
        );
    }
}
