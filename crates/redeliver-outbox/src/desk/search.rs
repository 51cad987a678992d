//! Looking for what may be rare, in bounded steps.

use std::time::Duration;

use redeliver::clock;

use super::{Desk, Filter, MessageRef, Page, Record};
use crate::{limits, store::Result};

/// What a search has found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Messages that match, in the order of the page.
    pub records: Vec<Record>,
    /// Where to go on, as the `after` of another page; none if there is nothing more.
    pub next: Option<i64>,
    /// Whether everything up to the end was looked at: there are no more that match.
    pub complete: bool,
}

pub(super) async fn search<D: Desk + ?Sized>(
    desk: &D,
    filter: &Filter,
    page: Page,
    budget: Duration,
) -> Result<Searched> {
    let begun = clock::now();
    let mut found = Searched::default();
    let named = named(filter);
    if let Some(named) = named.filter(|_| page.after.is_none()) {
        let only = Filter {
            messages: vec![named],
            text: None,
            ..filter.clone()
        };
        found.records = desk.list(&only, page, false).await?;
    }
    let mut way = Way::of(page);
    while found.records.len() < page.limit {
        let before = clock::now();
        let nearest = desk.nearest(filter, way.behind, page.newest_first).await?;
        let Some(window) = nearest.and_then(|nearest| way.window(nearest)) else {
            found.complete = true;
            found.next = None;
            return Ok(found);
        };
        let limit = page.limit - found.records.len();
        let records = desk.list(filter, Page { limit, ..window }, false).await?;
        let full = records.len() >= limit;
        found.next = if full {
            records.last().map(|last| last.id.number())
        } else {
            window.until
        };
        // It came first, whatever its place.
        found.records.extend(
            records
                .into_iter()
                .filter(|record| !named.is_some_and(|named| is(record, named))),
        );
        // Nothing is behind the last number: nobody need look again to learn that.
        if !full && way.ends_with(&window) {
            found.complete = true;
            found.next = None;
            return Ok(found);
        }
        let now = clock::now();
        way.behind = found.next;
        if !way.goes_on(now.since(before), budget.saturating_sub(now.since(begun))) {
            return Ok(found);
        }
    }
    // The message that was named filled the page by itself: everything else is behind it.
    let beginning = if page.newest_first { i64::MAX } else { -1 };
    found.next = found.next.or(page.after).or(Some(beginning));
    Ok(found)
}

/// The message that the text names, if it does.
fn named(filter: &Filter) -> Option<MessageRef> {
    filter.text.as_deref()?.trim().parse().ok()
}

fn is(record: &Record, named: MessageRef) -> bool {
    match named {
        MessageRef::Id(id) => record.id == id,
        MessageRef::Number(number) => record.id.number() == number,
    }
}

/// The way through the numbers, in steps that become longer.
struct Way {
    page: Page,
    behind: Option<i64>,
    step: i64,
}

impl Way {
    const fn of(page: Page) -> Self {
        Self {
            page,
            behind: page.after,
            step: limits::SEARCH_FIRST_WINDOW,
        }
    }

    /// Twice as far the next time, unless that would take more than half of the time that is left: what comes may take twice as long as what
    /// was, being met for the first time or holding more. Ends where there is no time even for a short step.
    fn goes_on(&mut self, took: Duration, left: Duration) -> bool {
        let affordable = left.as_nanos() / 2 * u128::from(self.step.unsigned_abs()) / took.as_nanos().max(1);
        let affordable = i64::try_from(affordable).unwrap_or(i64::MAX);
        self.step = affordable.min(self.step * 2).min(limits::SEARCH_LARGEST_WINDOW);
        self.step >= limits::SEARCH_FIRST_WINDOW
    }

    /// Whether there is nothing behind this window.
    fn ends_with(&self, window: &Page) -> bool {
        let end = match (self.page.until, self.page.newest_first) {
            (Some(until), _) => until,
            (None, true) => 0,
            (None, false) => i64::MAX,
        };
        window.until == Some(end)
    }

    /// The window that begins with this number; none if that is further than the page goes.
    fn window(&self, nearest: i64) -> Option<Page> {
        let (after, until) = if self.page.newest_first {
            let until = nearest.saturating_sub(self.step - 1).max(0);
            (nearest.saturating_add(1), until.max(self.page.until.unwrap_or(0)))
        } else {
            let until = nearest.saturating_add(self.step - 1);
            (
                nearest.saturating_sub(1),
                until.min(self.page.until.unwrap_or(i64::MAX)),
            )
        };
        let within = if self.page.newest_first {
            nearest >= until
        } else {
            nearest <= until
        };
        within.then_some(Page {
            after: Some(after),
            until: Some(until),
            ..self.page
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page {
        after: None,
        until: None,
        limit: 10,
        newest_first: false,
    };

    #[test]
    fn windows_double_to_a_limit_and_stay_within_the_page() {
        let mut way = Way::of(PAGE);
        let mut lengths = Vec::new();
        for _ in 0..9 {
            let window = way.window(1_000_000).unwrap();
            assert_eq!(window.after, Some(999_999));
            lengths.push(window.until.unwrap() - 999_999);
            assert!(way.goes_on(Duration::from_millis(1), Duration::from_secs(1)));
        }
        assert_eq!(
            lengths,
            [
                2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 200_000, 200_000
            ]
        );
        assert!(way.goes_on(Duration::from_secs(2), Duration::from_secs(5)));
        assert_eq!(way.step, 200_000, "as much again is what there is time for");
        assert!(way.goes_on(Duration::from_secs(2), Duration::from_secs(1)));
        assert_eq!(way.step, 50_000, "a quarter of it is");
        assert!(
            !way.goes_on(Duration::from_secs(2), Duration::from_millis(100)),
            "not even a short step is"
        );
        let bounded = Way::of(Page {
            until: Some(1500),
            ..PAGE
        });
        assert_eq!(bounded.window(1000).unwrap().until, Some(1500));
        assert_eq!(bounded.window(1501), None);
    }

    #[test]
    fn windows_go_backwards_to_the_first_number() {
        let newest = Page {
            newest_first: true,
            ..PAGE
        };
        let window = Way::of(newest).window(700).unwrap();
        assert_eq!((window.after, window.until), (Some(701), Some(0)));
        assert!(Way::of(newest).ends_with(&window));
        let window = Way::of(newest).window(7000).unwrap();
        assert!(!Way::of(newest).ends_with(&window));
        let bounded = Page {
            until: Some(650),
            ..newest
        };
        assert_eq!(Way::of(bounded).window(700).unwrap().until, Some(650));
        assert_eq!(Way::of(bounded).window(649), None);
    }
}
