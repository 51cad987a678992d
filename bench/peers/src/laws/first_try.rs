//! First try: what a retry costs the call that needs none, which is nearly every call.
//!
//! Times batches of calls that succeed at once through each crate's own loop, and the same calls awaited bare, turn by
//! turn so that a slow moment falls on all alike; the median of the rounds counts.

use std::hint::black_box;
use std::time::Instant;

use super::{Effort, median, real_clock};
use crate::entry::Entry;
use crate::finding::Finding;
use crate::peer::Job;
use crate::server::answer;

const CALLS: u32 = 10_000;

/// A figure for every entry, and the bare await's own.
pub(crate) fn measure(entries: &[Entry], effort: Effort) -> (Vec<Finding>, f64) {
    let runtime = real_clock();
    let mut bare = Vec::new();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); entries.len()];
    for _ in 0..effort.rounds {
        bare.push(runtime.block_on(per_call(bare_awaits(CALLS))));
        for (entry, figures) in entries.iter().zip(&mut rounds) {
            if let Some(job) = (entry.first_tries)(CALLS) {
                figures.push(runtime.block_on(per_call(job)));
            }
        }
    }
    let bare = median(&mut bare);
    let findings = entries
        .iter()
        .zip(&mut rounds)
        .map(|(entry, figures)| match figures.as_mut_slice() {
            [] if entry.as_documented.is_some() => Finding::as_above(),
            [] => Finding::absent(),
            figures => Finding::timed(median(figures), bare),
        });
    (findings.collect(), bare)
}

async fn per_call(job: Job<'_>) -> f64 {
    let began = Instant::now();
    job.await;
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn bare_awaits(calls: u32) -> Job<'static> {
    Box::pin(async move {
        for _ in 0..calls {
            let _ = black_box(answer().await.is_ok());
        }
    })
}
