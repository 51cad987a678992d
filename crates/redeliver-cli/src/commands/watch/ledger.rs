/// Counts what was repeated and lost, as far as the numbers of the items show it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    numbered: Option<Numbered>,
    /// An item without a number came, or numbers that do not rise by one: nothing can be said about losses.
    irregular: bool,
    after_a_gap: bool,
    repeated: u64,
    lost: u64,
}

#[derive(Debug)]
struct Numbered {
    highest: u64,
}

impl Ledger {
    /// A connection was made; a jump in the numbers of the next item is a loss.
    pub(crate) const fn connected(&mut self) {
        self.after_a_gap = true;
    }

    pub(crate) fn item(&mut self, place: Option<&str>) {
        let after_a_gap = std::mem::take(&mut self.after_a_gap);
        let Some(number) = place.and_then(|place| place.parse::<u64>().ok()) else {
            self.irregular = true;
            return;
        };
        let Some(Numbered { highest }) = &mut self.numbered else {
            self.numbered = Some(Numbered { highest: number });
            return;
        };
        if number <= *highest {
            self.repeated += 1;
            return;
        }
        let skipped = number - *highest - 1;
        *highest = number;
        if after_a_gap {
            self.lost = self.lost.saturating_add(skipped);
        } else if skipped > 0 {
            // Within one connection nothing is lost, so these numbers do not rise by one.
            self.irregular = true;
        }
    }

    /// Items that came again; `None` if the items have no numbers.
    pub(crate) fn repeated(&self) -> Option<u64> {
        self.numbered.as_ref().map(|_| self.repeated)
    }

    /// Items that never came; `None` if the numbers do not show it.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.repeated().filter(|_| !self.irregular).map(|_| self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(connections: &[&[&str]]) -> (Option<u64>, Option<u64>) {
        let mut ledger = Ledger::default();
        for connection in connections {
            ledger.connected();
            for place in *connection {
                ledger.item(Some(place));
            }
        }
        (ledger.repeated(), ledger.lost())
    }

    #[test]
    fn numbers_that_rise_by_one_show_both() {
        assert_eq!(count(&[&["5", "6"], &["7", "8"]]), (Some(0), Some(0)));
        assert_eq!(
            count(&[&["5", "6"], &[], &["6", "7"], &["10"]]),
            (Some(1), Some(2))
        );
    }

    #[test]
    fn other_places_show_what_they_can() {
        assert_eq!(count(&[&["10", "20"], &["20", "50"]]), (Some(1), None));
        assert_eq!(count(&[&["a", "b"], &["b"]]), (None, None));
        assert_eq!(count(&[]), (None, None));
        let largest = u64::MAX.to_string();
        assert_eq!(count(&[&["0"], &[&largest]]), (Some(0), Some(u64::MAX - 1)));
    }
}
