use std::time::Duration;

use super::{Scenario, Second};

/// Seconds that are looked at together.
const WINDOW: usize = 5;
/// The share of calls that must succeed.
const SUCCESS: f64 = 0.99;
/// How far the load may be from normal.
const TOLERANCE: f64 = 0.10;
/// Standard deviations of chance that are not held against a small fleet.
const CHANCE: f64 = 4.0;

/// From the end of the outage to when all was well for the rest of the run; `None` if it never was.
pub(super) fn time_to_recover(scenario: &Scenario, series: &[Second]) -> Option<Duration> {
    let outage_end = scenario.outage_end();
    let first = outage_end.as_secs() as usize;
    let after = series.get(first..)?;
    let normal = scenario.normal_load() * WINDOW as f64;
    let bad = |window: &[Second]| !is_well(window, normal);
    let settled = match after.windows(WINDOW).rposition(bad) {
        None => 0,
        Some(last_bad) if last_bad + WINDOW >= after.len() => return None,
        Some(last_bad) => last_bad + 1,
    };
    let moment = Duration::from_secs((first + settled) as u64);
    Some(moment.saturating_sub(outage_end))
}

fn is_well(window: &[Second], normal: f64) -> bool {
    let sum = |count: fn(&Second) -> u64| window.iter().map(count).sum::<u64>() as f64;
    let (succeeded, lost) = (sum(|second| second.succeeded), sum(|second| second.lost));
    let allowed = (normal * TOLERANCE).max(CHANCE * normal.sqrt());
    succeeded >= SUCCESS * (succeeded + lost) && (sum(|second| second.load) - normal).abs() <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(load: u64, lost: u64) -> Second {
        Second {
            load,
            succeeded: load.saturating_sub(lost),
            lost,
            ..Second::default()
        }
    }

    fn recovery(after: &[Second]) -> Option<Duration> {
        let scenario = Scenario::new(10_000, 500.0, Duration::from_secs(5));
        let mut series = vec![second(300, 0); 15];
        series.extend_from_slice(after);
        time_to_recover(&scenario, &series)
    }

    #[test]
    fn the_last_bad_second_counts_be_it_lost_calls_or_load() {
        let well = || vec![second(300, 0); 20];
        assert_eq!(recovery(&well()), Some(Duration::ZERO));
        for bad in [second(300, 30), second(1_500, 0), second(0, 0)] {
            let mut series = well();
            series[0] = bad;
            series[7] = bad;
            assert_eq!(recovery(&series), Some(Duration::from_secs(8)), "{bad:?}");
        }
    }

    #[test]
    fn a_run_that_ends_in_trouble_has_not_recovered() {
        let mut series = vec![second(300, 0); 20];
        series[19] = second(4_000, 0);
        assert_eq!(recovery(&series), None);
    }
}
