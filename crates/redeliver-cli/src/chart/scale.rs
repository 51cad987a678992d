use crate::readable;

/// What a value is, and so how it is written and where its ticks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the simulators draw what `explain` does not measure")
)]
pub(crate) enum Measure {
    /// A time, in seconds.
    Time,
    /// A plain number.
    Count,
    /// So many a second.
    PerSecond,
    /// A share, in hundredths.
    Percent,
}

/// Steps between ticks that people count in, in seconds, from a second to a day.
const TIME_STEPS: [f64; 18] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0,
    21_600.0, 43_200.0, 86_400.0,
];
const DAY: f64 = 86_400.0;

impl Measure {
    /// The value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Time => readable::seconds(value),
            Self::Count => readable::number(value),
            Self::PerSecond => format!("{}/s", readable::number(value)),
            Self::Percent => format!("{} %", readable::number(value)),
        }
    }

    /// Round values from zero to at most `top`, `most` steps apart at most.
    pub(super) fn ticks(self, top: f64, most: usize) -> Vec<f64> {
        let step = self.step(top, most);
        let count = (top / step + 1e-9) as usize;
        (0..=count.min(most)).map(|index| index as f64 * step).collect()
    }

    /// The first round value at or above `top`: where an axis ends.
    pub(super) fn round_up(self, top: f64, most: usize) -> f64 {
        let step = self.step(top, most);
        let steps = (top / step - 1e-9).ceil();
        step * if steps.is_finite() { steps.max(1.0) } else { 1.0 }
    }

    fn step(self, top: f64, most: usize) -> f64 {
        let smallest = if top > 0.0 && top.is_finite() { top } else { 1.0 } / most.max(1) as f64;
        match self {
            Self::Time if smallest > DAY => decimal_step(smallest / DAY) * DAY,
            Self::Time if smallest > TIME_STEPS[0] => TIME_STEPS
                .into_iter()
                .find(|step| *step >= smallest)
                .unwrap_or(DAY),
            _ => decimal_step(smallest),
        }
    }
}

/// The first of 1, 2, 5, 10, … at or above `smallest`.
fn decimal_step(smallest: f64) -> f64 {
    let exponent = smallest.log10().floor() as i32;
    // A negative power is written as a division, which gives 0.2 where a product gives 0.2000…01.
    let scaled = |factor: f64, exponent: i32| match exponent {
        0.. => factor * 10f64.powi(exponent),
        _ => factor / 10f64.powi(-exponent),
    };
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| scaled(factor, exponent))
        .find(|step| *step >= smallest * (1.0 - 1e-9))
        .unwrap_or_else(|| scaled(1.0, exponent + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(measure: Measure, top: f64, most: usize) -> Vec<String> {
        measure
            .ticks(top, most)
            .into_iter()
            .map(|tick| measure.show(tick))
            .collect()
    }

    #[test]
    fn ticks_are_where_people_count() {
        assert_eq!(shown(Measure::Time, 39.0, 5), ["0s", "10s", "20s", "30s"]);
        assert_eq!(
            shown(Measure::Time, 79.3, 6),
            ["0s", "15s", "30s", "45s", "1m", "1m 15s"]
        );
        assert_eq!(shown(Measure::Time, 0.36, 4), ["0s", "100ms", "200ms", "300ms"]);
        assert_eq!(shown(Measure::Count, 1_200.0, 3), ["0", "500", "1k"]);
        assert_eq!(shown(Measure::Percent, 100.0, 4), ["0 %", "50 %", "100 %"]);
        assert_eq!(
            shown(Measure::Time, 86_400.0 * 30.0, 4),
            ["0s", "10d", "20d", "30d"]
        );
    }

    #[test]
    fn an_axis_ends_on_a_tick() {
        assert_eq!(Measure::Count.round_up(1_200.0, 4), 1_500.0);
        assert_eq!(Measure::Count.round_up(1_000.0, 4), 1_000.0);
    }

    #[test]
    fn nothing_to_draw_still_has_an_axis() {
        for top in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300] {
            for measure in [Measure::Time, Measure::Count] {
                assert!(measure.round_up(top, 5) > 0.0, "{top}");
                assert!(measure.ticks(top, 5).len() <= 6);
            }
        }
    }
}
