//! Allocations of a first-try success: those of a batch, less those of an empty batch, by the call.

use super::real_clock;
use crate::allocations::so_far;
use crate::entry::Entry;
use crate::finding::Finding;

const CALLS: u32 = 1_000;

pub(crate) fn measure(entries: &[Entry]) -> Vec<Finding> {
    entries.iter().map(per_call).collect()
}

fn per_call(entry: &Entry) -> Finding {
    let (Some(empty), Some(full)) = (made_by(entry, 0), made_by(entry, CALLS)) else {
        return if entry.as_documented.is_some() {
            Finding::as_above()
        } else {
            Finding::absent()
        };
    };
    let each = full.saturating_sub(empty) as f64 / f64::from(CALLS);
    Finding::measured(each, "allocations", format!("{each}"))
}

fn made_by(entry: &Entry, calls: u32) -> Option<u64> {
    let runtime = real_clock();
    let job = (entry.first_tries)(calls)?;
    let before = so_far();
    runtime.block_on(job);
    Some(so_far() - before)
}
