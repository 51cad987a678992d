use core::time::Duration;

/// When the count of a connection's failures starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Reset {
    /// Never: the count is of the whole stream's life.
    Never,
    /// After a connection that gave at least one item.
    AfterFirstItem,
    /// After a connection that was up for at least this long.
    AfterUp(#[cfg_attr(feature = "serde", serde(with = "crate::form::text"))] Duration),
    /// One failure is forgiven for each such span that the connection was up.
    Decay(#[cfg_attr(feature = "serde", serde(with = "crate::form::text"))] Duration),
}

impl Default for Reset {
    /// A first item is the earliest proof that the connection worked.
    fn default() -> Self {
        Self::AfterFirstItem
    }
}

impl Reset {
    pub(crate) fn streak_after(self, streak: u32, up: Duration, items: u64) -> u32 {
        match self {
            Self::AfterFirstItem if items > 0 => 0,
            Self::AfterUp(enough) if up >= enough => 0,
            Self::Decay(span) => {
                // A span of zero forgives everything, as the shortest time up holds any number of them.
                let forgiven = up.as_nanos().checked_div(span.as_nanos()).unwrap_or(u128::MAX);
                streak.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
            }
            _ => streak,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_forgives_what_it_says() {
        let second = Duration::from_secs(1);
        assert_eq!(Reset::Never.streak_after(4, second * 99, 99), 4);
        assert_eq!(Reset::AfterFirstItem.streak_after(4, second, 0), 4);
        assert_eq!(Reset::AfterFirstItem.streak_after(4, Duration::ZERO, 1), 0);
        assert_eq!(
            Reset::AfterUp(second).streak_after(4, Duration::from_millis(999), 50),
            4
        );
        assert_eq!(Reset::AfterUp(second).streak_after(4, second, 0), 0);
        assert_eq!(
            Reset::Decay(second).streak_after(4, Duration::from_millis(2_500), 0),
            2
        );
        assert_eq!(Reset::Decay(Duration::ZERO).streak_after(4, second, 0), 0);
    }
}
